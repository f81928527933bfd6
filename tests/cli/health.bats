#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# uncore serve: what probes of containers ask.

load helpers

setup() {
	[[ $("$UNCORE" --help) == *' serve '* ]] || skip 'built without libmicrohttpd'
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	[ -z "${server-}" ] || kill -KILL "$server" 2>/dev/null || true
}

# health ADDRESS PATH CODE SENTENCE
health() {
	local answer

	answer=$(printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" | scrape whole "$1" | tr -d '\r')
	[[ $answer == "HTTP/1.1 $3 "*$'\n\n'"$4" ]] || fail "$2 is not $3 $4: $answer"
}

@test "/-/ready when an interval has ended; /-/healthy while the loop counts" {
	serve --source "$SIM_SPR" serve --listen unix:socket -I 1h
	health "$address" /-/healthy 200 healthy
	health "$address" /-/ready 503 'no interval has ended yet'
	stop TERM
	serve --source "$SIM_SPR" serve --listen unix:socket -I 50ms
	scrape wait "$address" 1 >/dev/null
	health "$address" /-/healthy 200 healthy
	health "$address" /-/ready 200 ready
	[[ $(printf 'HEAD /-/ready HTTP/1.0\r\n\r\n' | scrape whole "$address") == *' 200 '*Length:\ 6* ]]
	[[ $(printf 'POST /-/ready HTTP/1.0\r\nContent-Length: 0\r\n\r\n' | scrape raw "$address") == *' 405 '* ]]
	stop TERM
	# Nothing is counted until a client asks for it, and that is no fault.
	mkfifo -m 666 control
	serve --source "$SIM_SPR" serve --listen unix:socket -I 50ms --control fifo:control -D -1
	health "$address" /-/healthy 200 healthy
	health "$address" /-/ready 503 'no interval has ended yet'
	stop TERM
}

# bats test_tags=slow
@test "/-/healthy tells that the loop is blocked, and that it goes on" {
	# The loop writes to a pipe that is full, while other threads answer.
	python3 -S - "$UNCORE" "$SIM_SPR" <<-'PY'
		import os, socket, subprocess, sys, threading, time
		read, write = os.pipe()
		os.set_blocking(write, False)
		try:
		    while os.write(write, b"x"):
		        pass
		except BlockingIOError:
		    os.set_blocking(write, True)
		process = subprocess.Popen([sys.argv[1], "--source", sys.argv[2], "serve", "--listen", "unix:socket", "-I", "50ms"], stderr=write)
		def ask(path):
		    with socket.socket(socket.AF_UNIX) as s:
		        s.connect("socket")
		        s.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
		        text = s.makefile().read()
		        return text.split()[1] + " " + text.split("\n\n")[1].strip()
		def wait(path, wanted):
		    begin = time.monotonic()
		    while True:
		        try:
		            if (answer := ask(path)) == wanted:
		                return time.monotonic() - begin
		        except (FileNotFoundError, ConnectionError):
		            answer = None
		        assert time.monotonic() - begin < 60 and process.poll() is None, (path, wanted, answer)
		        time.sleep(0.05)
		try:
		    wait("/-/healthy", "200 healthy")
		    assert wait("/-/healthy", "503 no interval has ended in time: counting is blocked") > 8
		    wait("/-/ready", "503 no interval has ended in time: counting is blocked")
		    threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(read, 65536), b"")], daemon=True).start()
		    wait("/-/ready", "200 ready")
		    wait("/-/healthy", "200 healthy")
		finally:
		    process.terminate()
		    assert process.wait(60) == 0
	PY
}
