#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2030,SC2031 # variables are of the test that sets them
# uncore serve: who gets an answer, and files that it reads while it runs.

load helpers

setup() {
	[[ $("$UNCORE" --help) == *' serve '* ]] || skip 'built without libmicrohttpd'
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	[ -z "${server-}" ] || kill -KILL "$server" 2>/dev/null || true
	rm -f run
}

# certificate NAME OPTION...: makes NAME.pem and NAME-key.pem
certificate() {
	local name=$1

	command -v curl openssl >commands
	[ "$(wc -l <commands)" -eq 2 ] || skip 'curl and openssl are not installed: tools/setup test'
	shift
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$name" "$@" \
		-keyout "$name-key.pem" -out "$name.pem" 2>/dev/null
	chmod a+r "$name-key.pem"
}

# The hash of "secret", with few rounds.
HASH='$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW'

# code STATUS OPTION...: what curl gets; 000: no connection
code() {
	local wanted=$1 code

	shift
	code=$(curl -s -m 60 -o answer -w '%{http_code}' "$@") || true
	[ "$code" = "$wanted" ] || fail "$code and not $wanted: $*"
}

@test "--web-config: passwords" {
	certificate server
	printf 'basic_auth_users:\n  alice: %s\n  bob: %s\n' "$HASH" "$HASH" >web.yml
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web.yml -I 50ms
	code 401 "$address"
	grep -qi 'password' answer
	for path in / /x '/metrics?x'; do
		code 401 "${address%/metrics}$path"
	done
	code 401 -X POST "$address"
	# A NUL does not end a password.
	code 401 -H "Authorization: Basic $(printf 'alice:secret\0zzz' | base64)" "$address"
	code 401 -H "Authorization: Basic $(printf 'alice\0:secret' | base64)" "$address"
	code 401 -u alice:wrong "$address"
	code 401 -u alice: "$address"
	code 401 -u carol:secret "$address"
	code 401 -u :secret "$address"
	for path in / /page.js /api/v1/stream /api/v1/values /api/v1/machine; do
		code 401 "${address%/metrics}$path"
	done
	for path in healthy ready; do
		code 200 "${address%/metrics}/-/$path"
		[ "$(<answer)" = "$path" ]
	done
	code 401 "${address%/metrics}/-/"
	code 200 -u alice:secret "$address"
	grep -q ^uncore_series answer
	code 200 -u bob:secret -H 'Host: any.example' "$address"
	code 200 -u alice:secret "$address"
	code 401 -u alice:secret2 "$address"
	code 404 -u alice:secret "${address%/metrics}/none"
	for header in Basic 'Basic ' 'Basic !' 'Basic YWxpY2U=' 'Bearer x' 'Digest username="alice"'; do
		code 401 -H "Authorization: $header" "$address"
	done
	# Many at once with wrong passwords, and it ends while they wait.
	for ((i = 0; i < 30; i++)); do
		curl -s -m 60 -o /dev/null -u "alice:$i" "$address" 3>&- &
	done
	code 200 -u alice:secret "$address"
	stop TERM
}

@test "--web-config: a change of what is counted needs the password, too" {
	local json='Content-Type: application/json' body='{"choice": "mem", "on": true}'

	printf 'basic_auth_users:\n  alice: %s\n' "$HASH" >web.yml
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web.yml -I 50ms --choices mem
	for user in '' alice:wrong carol:secret; do
		code 401 ${user:+-u "$user"} -H "$json" -d "$body" "${address%/metrics}/api/v1/choices"
	done
	code 401 "${address%/metrics}/api/v1/choices"
	# The password is checked while the body waits.
	code 202 -u alice:secret -H "$json" -d "$body" "${address%/metrics}/api/v1/choices"
	grep -q '"choice":"mem".*"wanted":true' answer || fail "$(<answer)"
	code 202 -u alice:secret -H "$json" -d "$body" "${address%/metrics}/api/v1/choices"
	code 403 -u alice:secret -H "$json" -H 'Origin: https://evil.example' -d "$body" "${address%/metrics}/api/v1/choices"
	stop TERM
}

# bats test_tags=slow
@test "--web-config: TLS and client certificates" {
	local tls='tls_server_config: {cert_file: server.pem, key_file: server-key.pem' to

	certificate server -addext subjectAltName=IP:127.0.0.1
	certificate client
	certificate stranger
	mkdir web
	mv server.pem server-key.pem web
	cp client.pem web/ca.pem
	echo "$tls, min_version: TLS13}" >web/web.yml
	echo 'http_server_config: {http2: true, headers: {X-Frame-Options: deny, Strict-Transport-Security: max-age=9}}' >>web/web.yml
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web/web.yml
	[[ $address == https://* ]] || fail "$address"
	to=(--cacert web/server.pem "$address")
	code 200 -D headers "${to[@]}"
	grep -q '^X-Frame-Options: deny' headers && grep -q '^X-Content-Type-Options: nosniff' headers || fail "$(<headers)"
	code 000 "$address"
	code 000 "http${address#https}"
	code 000 --tls-max 1.2 "${to[@]}"
	stop TERM
	echo "$tls, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem}" >web/web.yml
	# With both, other machines may connect.
	serve --source "$SIM_SPR" serve --listen :0 --web-config web/web.yml
	to=(--cacert web/server.pem "https://127.0.0.1:${address##*:}")
	code 200 --cert client.pem --key client-key.pem "${to[@]}"
	code 200 --tls-max 1.2 --cert client.pem --key client-key.pem "${to[@]}"
	code 403 "${to[@]}"
	code 200 --cacert web/server.pem "${to[2]%/metrics}/-/healthy"
	code 403 --cert stranger.pem --key stranger-key.pem "${to[@]}"
	stop TERM
	echo "$tls, client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.pem}" >web/web.yml
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --listen :0 --web-config web/web.yml
	[[ $stderr == *--insecure* ]] || fail "$stderr"
	printf 'basic_auth_users: {alice: %s}\n' "$HASH" >>web/web.yml
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web/web.yml
	to=(--cacert web/server.pem "$address")
	code 401 "${to[@]}"
	code 200 -u alice:secret "${to[@]}"
	code 403 -u alice:secret --cert stranger.pem --key stranger-key.pem "${to[@]}"
	code 200 -u alice:secret --cert client.pem --key client-key.pem "${to[@]}"
	stop TERM
}

# log_in ADDRESS PASSWORD...: seconds until the last one, which is right, is answered, from an address of its own, while wrong ones
# from so many addresses, 60 connections each, are checked.
log_in() {
	python3 -S - "$1" "$2" <<-'PY'
		import base64, re, socket, sys, threading, time
		port, addresses = int(re.search(r":(\d+)/", sys.argv[1])[1]), int(sys.argv[2])
		def ask(source, password):
		    try:
		        with socket.create_connection(("127.0.0.1", port), 60, (source, 0)) as s:
		            word = base64.b64encode(password.encode()).decode()
		            s.sendall(f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {word}\r\n\r\n".encode())
		            return s.recv(12).decode()
		    except OSError:
		        return ""
		def attack(source):
		    while True:
		        ask(source, "alice:wrong")
		for i in range(60 * addresses):
		    threading.Thread(target=attack, args=(f"127.0.3.{1 + i // 60}",), daemon=True).start()
		time.sleep(3)
		begin = time.monotonic()
		answer = ask("127.0.4.1", "alice:secret")
		assert answer.endswith(" 200"), answer
		print(f"{time.monotonic() - begin:.2f}")
	PY
}

# bats test_tags=slow
@test "--web-config: wrong passwords from other addresses do not delay a first login" {
	local seconds addresses

	# bcrypt of "secret"; a check takes 50 ms.
	hash=$(python3 -S "$UNCORE_SOURCE_ROOT/tests/cli/bcrypt.py" "${HASH/04/10}") || skip 'no libcrypt here'
	printf 'basic_auth_users: {alice: %s}\n' "$hash" >web.yml
	for addresses in 1 10; do
		serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web.yml
		seconds=$(log_in "$address" "$addresses") || fail "no answer beside $addresses addresses: $seconds"
		echo "# $seconds s beside $addresses addresses"
		[ "${seconds%.*}" -lt 2 ] || fail "$seconds s beside $addresses addresses"
		stop TERM
	done
}

# bats test_tags=slow
@test "--web-config: unknown users and wrong passwords take the same time" {
	local user

	hash=$(python3 -S "$UNCORE_SOURCE_ROOT/tests/cli/bcrypt.py" "${HASH/04/07}") || skip 'no libcrypt here'
	printf 'basic_auth_users: {alice: %s, bob: %s, carol: %s}\n' "$HASH" "$hash" "$HASH" >web.yml
	chmod a+rwx .
	touch calls
	chmod a+rw calls
	export LD_PRELOAD=$UNCORE_BUILD_ROOT/tests/delay-read.so DELAY_READ_PER_CENT=0 CRYPT_LOG=calls
	program=${UNCORE_PLAIN:-$UNCORE} serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web.yml
	unset LD_PRELOAD
	for user in alice bob carol nobody; do
		: >calls
		code 401 -u "$user:wrong" "$address"
		# The rounds of all calls: 2 to the power of each cost.
		[ "$(awk -F '$' '{sum += 2 ^ $3} END {print sum}' calls)" -eq 128 ] || fail "$user: $(<calls)"
	done
	code 200 -u bob:secret "$address"
	code 200 -u alice:secret "$address"
	stop TERM
}

# bats test_tags=slow
@test "an endless password check delays neither slow clients nor the end" {
	local begin

	printf 'basic_auth_users: {alice: %s}\n' "$HASH" >web.yml
	export LD_PRELOAD=$UNCORE_BUILD_ROOT/tests/delay-read.so DELAY_READ_PER_CENT=0 CRYPT_SECONDS=300
	program=${UNCORE_PLAIN:-$UNCORE} serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web.yml
	unset LD_PRELOAD
	curl -s -m 100 -o /dev/null -u alice:secret "$address" 3>&- &
	sleep 1
	# Cut after 5 s, with its headers unfinished.
	python3 -S - "$address" <<-'PY' || fail 'a slow client is not cut'
		import re, socket, sys
		s = socket.create_connection(("127.0.0.1", int(re.search(r":(\d+)/", sys.argv[1])[1])), 30)
		s.sendall(b"GET /metrics HT")
		assert s.recv(1) == b""
	PY
	begin=$SECONDS
	kill -TERM "$server"
	wait "$server" || true
	[ $((SECONDS - begin)) -lt 20 ] || fail "it ends after $((SECONDS - begin)) s"
	server=
	grep -q 'a thread did not end in time' errors
}

# told TEXT: waits until the server says so.
told() {
	until grep -q "$1" errors; do
		kill -0 "$server" || fail "$(<errors)" || return 1
		sleep 0.1
	done
	: >errors
}

# bats test_tags=slow
@test "--web-config: a new certificate or password is taken without a lost connection" {
	local clients=()

	certificate other
	certificate server -addext subjectAltName=IP:127.0.0.1
	certificate next -addext subjectAltName=IP:127.0.0.1
	cat server.pem next.pem >both.pem
	printf 'tls_server_config: {cert_file: server.pem, key_file: server-key.pem}\nbasic_auth_users: {alice: %s}\n' \
		"$HASH" >web.yml
	chmod a+rx .
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web.yml -I 50ms
	# Each with new connections, and with one that is kept.
	touch run
	for ((i = 0; i < 3; i++)); do
		while [ -e run ]; do
			curl -sS -m 60 -f -o /dev/null -o /dev/null -u alice:secret --cacert both.pem "$address" "$address" || touch "lost$i"
			touch "served$i"
		done 2>"client$i" 3>&- &
		clients+=($!)
	done
	# One of two files that belong together is refused alone.
	cp next.pem server.pem
	told 'the previous configuration stays in use'
	code 200 -u alice:secret --cacert both.pem "$address"
	cp next-key.pem server-key.pem
	told 'the new configuration is in use'
	code 000 --cacert other.pem "$address"
	until code 200 -u alice:secret --cacert next.pem "$address"; do sleep 0.1; done
	rm -f served*
	until [ -e served0 ] && [ -e served1 ] && [ -e served2 ]; do sleep 0.1; done
	rm run
	wait "${clients[@]}"
	[ -z "$(ls lost* 2>/dev/null)" ] || fail "$(cat client*)"
	# Who follows the intervals must show the new password, too.
	curl -sS -N -m 60 -u alice:secret --cacert next.pem "${address%/metrics}/api/v1/stream" >followed 3>&- &
	clients=($!)
	until grep -q ^id: followed; do sleep 0.1; done
	sed -i s/alice/bob/ web.yml
	told 'the new configuration is in use'
	wait "${clients[@]}" || fail 'the stream was cut in the middle'
	code 401 -u alice:secret --cacert next.pem "$address"
	code 200 -u bob:secret --cacert next.pem "$address"
	echo 'basic_auth_users: {bob: wrong}' >web.yml
	told 'the previous configuration stays in use'
	code 200 -u bob:secret --cacert next.pem "$address"
	stop TERM
}

@test "--web-config: errors have a line and a column" {
	local line

	certificate server
	while IFS='|' read -r text line; do
		printf '%b\n' "$text" >web.yml
		expect 1 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --web-config web.yml
		[[ $stderr == "uncore: web.yml"$line* ]] || fail "$stderr instead of $line: $text"
	done <<-'END'
		tls_server_config: {certfile: x}|:1:21: unknown key 'tls_server_config.certfile'; there are: http_server_config.headers.X
		tls_server_config:\n  cipher_suites: []|:2:3: unknown key
		basic_auth: {}|:1:1: unknown key 'basic_auth'
		basic_auth_users:\n  alice: secret|:2:10: basic_auth_users.alice is a hash of bcrypt
		basic_auth_users:\n  alice: $2z$10$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|:2:10: basic_auth_users.alice is a hash
		basic_auth_users:\n  alice: $2b$99$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|:2:10: basic_auth_users.alice has a cost that is not 04 to 15
		basic_auth_users:\n  alice: $2b$31$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|:2:10: basic_auth_users.alice has a cost
		basic_auth_users:\n  alice: $2b$16$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|:2:10: basic_auth_users.alice has a cost
		basic_auth_users:\n  alice: $2b$03$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|:2:10: basic_auth_users.alice has a cost
		basic_auth_users:\n  alice: $2b$1x$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|:2:10: basic_auth_users.alice is a hash
		basic_auth_users:\n  alice: $2b$10$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIr|:2:10: basic_auth_users.alice is a hash
		basic_auth_users:\n  alice: $2b$10$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIr_|:2:10: basic_auth_users.alice is a hash
		basic_auth_users:\n  alice: $2b$10$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrX|:2:10: basic_auth_users.alice is no hash
		basic_auth_users:\n  alice: {a: b}|:2:14: basic_auth_users.alice.a is
		basic_auth_users:\n  alice: []|:2:10: basic_auth_users.alice is a text
		basic_auth_users:\n  "a:b": x|:2:10: basic_auth_users.a:b is not a valid user name
		basic_auth_users: {}\nbasic_auth_users: {}|:2:1: the key 'basic_auth_users' is here twice
		[a]|:1:1: a map of settings is missing
		{[a]: b}|:1:2:
		tls_server_config: {min_version: "1.2"}|:1:34: tls_server_config.min_version is TLS10, TLS11, TLS12 or TLS13
		tls_server_config: {client_auth_type: RequestClientCert}|:1:39: tls_server_config.client_auth_type is NoClientCert,
		http_server_config: {headers: {X-Frame-Options: "a\\nb"}}|:1:49: http_server_config.headers.X-Frame-Options is a text of one line
		http_server_config: {headers: {Server: x}}|:1:32: unknown key
		a: b: c|:1:5:
		tls_server_config: {cert_file: server.pem}|: tls_server_config: cert_file and key_file need
		tls_server_config: {min_version: TLS13, max_version: TLS12}|: tls_server_config: min_version is above
		tls_server_config: {cert_file: server.pem, key_file: server-key.pem, client_ca_file: server.pem}|: tls_server_config: client_auth_type with
	END
	for text in '{cert_file: server.pem, key_file: none}' '{cert_file: server.pem, key_file: server.pem}'; do
		echo "tls_server_config: $text" >web.yml
		expect 1 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --web-config web.yml
	done
	expect 1 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --web-config none
	[[ $stderr == 'uncore: none: No such file'* ]] || fail "$stderr"
	: >web.yml
	expect 1 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --web-config web.yml
}

@test "files that would block or never end are refused, at the start and later" {
	local file

	certificate server -addext subjectAltName=IP:127.0.0.1
	mkfifo fifo
	mkdir directory
	head -c 2000000 /dev/zero | tr '\0' '#' >large
	for file in fifo directory /dev/zero large; do
		expect 1 timeout 60 "$UNCORE" --source "$SIM_SPR" serve --config "$file"
		says "^uncore: $file: (not a regular file|too large)\$"
		expect 1 timeout 60 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --web-config "$file"
		says "^uncore: $file"
		for key in cert_file key_file client_ca_file; do
			printf 'tls_server_config: {cert_file: server.pem, key_file: server-key.pem}\n' |
				sed "s|$key: [^,}]*||; s|{, |{|; s|{|{$key: $file, |; s|, }|}|" >web.yml
			expect 1 timeout 60 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --web-config web.yml
			says "uncore: $file: (not a regular file|too large)"
		done
	done
	# A key that becomes a FIFO stops neither a reload nor the end.
	printf 'tls_server_config: {cert_file: server.pem, key_file: key.pem}\n' >web.yml
	cp server-key.pem key.pem
	chmod a+r key.pem
	chmod a+rx .
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --web-config web.yml
	rm key.pem
	mkfifo key.pem
	told 'key.pem: not a regular file'
	code 200 --cacert server.pem "$address"
	rm key.pem
	cp server-key.pem key.pem
	chmod a+r key.pem
	told 'the new configuration is in use'
	stop TERM
}
