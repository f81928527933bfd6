/* SPDX-License-Identifier: MIT */
/* The copies of a GPU, by CUDA's driver API or by HIP. A child process loads the vendor's library
 * and copies what this process requests. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "verify/load.h"

/* Limits of the amounts of a series. */
#define UNIT ((size_t)64 << 20)
#define MOST ((size_t)8 << 30)
#define STEADY ((size_t)64 << 20)
#define QUEUED 16              /* copies between two waits */
#define SLOWEST (100ull << 20) /* bytes per second */
#define FILES_MOST 1024
#define LEAD (300 * NS_PER_MS) /* from a change of the rate to the reading that begins a round */
#define IDLE (2 * NS_PER_MS)

struct gpu_request {
	enum verify_load load;
	size_t bytes, copy;
};

struct gpu_reply {
	size_t bytes, elsewhere;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	char why[GPU_WHY];         /* "": done */
};

/* Shared with the child while it copies within the GPU: the part of the time in quarters, and what
 * it has copied. */
struct gpu_steady {
	atomic_uint quarters;
	atomic_uint_fast64_t bytes;
};
#define STOP 5u /* quarters */

/* ---- the vendor's library ---- */

enum direction {
	TO_GPU,
	FROM_GPU,
	WITHIN_GPU,
	DIRECTIONS,
};

/* Handles, and addresses of the GPU, have the size of a pointer in both libraries. */
struct calls {
	int (*init)(unsigned flags);
	int (*find)(int *device, const char *address);
	int (*retain)(void **context, int device);
	int (*enter)(void *context);
	int (*choose)(int device);
	int (*allocate)(uintptr_t *into, size_t bytes);
	int (*pin)(void *memory, size_t bytes, unsigned flags);
	int (*stream)(void **into, unsigned flags);
	int (*copy[DIRECTIONS])(uintptr_t to, uintptr_t from, size_t bytes, void *stream);
	int (*copy_any)(uintptr_t to, uintptr_t from, size_t bytes, int direction, void *stream);
	int (*wait)(void *stream);
	int (*name)(int error, const char **into);
};

enum vendor {
	CUDA,
	HIP,
	VENDORS,
};

static const char *const libraries[VENDORS][3] = {
	[CUDA] = {"libcuda.so.1"},
	[HIP] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"},
};

#define OF(call) offsetof(struct calls, call)
static const struct symbol {
	size_t at; /* in struct calls */
	const char *names[VENDORS];
} symbols[] = {
	{OF(init), {"cuInit", "hipInit"}},
	{OF(find), {"cuDeviceGetByPCIBusId", "hipDeviceGetByPCIBusId"}},
	{OF(retain), {"cuDevicePrimaryCtxRetain", NULL}},
	{OF(enter), {"cuCtxSetCurrent", NULL}},
	{OF(choose), {NULL, "hipSetDevice"}},
	{OF(allocate), {"cuMemAlloc_v2", "hipMalloc"}},
	{OF(pin), {"cuMemHostRegister_v2", "hipHostRegister"}},
	{OF(stream), {"cuStreamCreate", "hipStreamCreateWithFlags"}},
	{OF(copy[TO_GPU]), {"cuMemcpyHtoDAsync_v2", NULL}},
	{OF(copy[FROM_GPU]), {"cuMemcpyDtoHAsync_v2", NULL}},
	{OF(copy[WITHIN_GPU]), {"cuMemcpyDtoDAsync_v2", NULL}},
	{OF(copy_any), {NULL, "hipMemcpyAsync"}},
	{OF(wait), {"cuStreamSynchronize", "hipStreamSynchronize"}},
	{OF(name), {"cuGetErrorName", NULL}},
};
#define SYMBOLS (sizeof(symbols) / sizeof(*symbols))

/* ---- the child ---- */

struct child {
	struct calls calls;
	enum vendor vendor;
	int socket;
	struct gpu_steady *steady;
	struct verify_stream host;
	uintptr_t memory[2]; /* in the GPU */
	size_t at;           /* where the next copy within it begins */
	void *streams[2];
	struct gpu_reply reply;
};

#define REFUSE(c, ...) (snprintf((c)->reply.why, GPU_WHY, __VA_ARGS__), false)

/* Whether a call succeeded. */
static bool check(struct child *c, size_t at, int status)
{
	const struct symbol *s = symbols;
	const char *error = NULL;

	while (s->at != at)
		s++;
	if (status && c->calls.name)
		c->calls.name(status, &error);
	return !status || REFUSE(c, "%s failed: %s%s%d", s->names[c->vendor], error ? error : "",
				 error ? ", " : "error ", status);
}
#define CALL(c, call, ...) check(c, OF(call), (c)->calls.call(__VA_ARGS__))

static bool load_library(struct child *c)
{
	const char *const *names = libraries[c->vendor];
	void *library = NULL;

	for (size_t i = 0; !library && i < 3 && names[i]; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return REFUSE(c, "the library cannot be loaded: %s", dlerror());
	for (const struct symbol *s = symbols; s < symbols + SYMBOLS; s++) {
		void **into = (void **)(void *)((char *)&c->calls + s->at);

		if (!s->names[c->vendor])
			continue;
		*into = dlsym(library, s->names[c->vendor]);
		if (!*into)
			return REFUSE(c, "its library %s has no %s", names[0], s->names[c->vendor]);
	}
	return true;
}

/* The parts of the host memory that copies in the two directions use do not overlap if a copy is at
 * most half of it. Copies within the GPU, of STEADY bytes, use all of its memory in turn, so that
 * its caches hold little. */
static bool copy(struct child *c, enum direction d, size_t bytes)
{
	const uintptr_t host = (uintptr_t)c->host.base;
	uintptr_t to = c->memory[0], from = host;
	void *stream = c->streams[0];

	if (d == FROM_GPU) {
		to = host + c->host.size - bytes;
		from = c->memory[1];
		stream = c->streams[1];
	} else if (d == WITHIN_GPU) {
		to = c->memory[1] + c->at;
		from = c->memory[0] + c->at;
		c->at = (c->at + bytes) % c->host.size;
	}
	if (c->vendor == HIP)
		return CALL(c, copy_any, to, from, bytes, (int)d + 1, stream);
	return CALL(c, copy[d], to, from, bytes, stream);
}

static bool wait_all(struct child *c)
{
	return CALL(c, wait, c->streams[0]) && CALL(c, wait, c->streams[1]);
}

static bool start(struct child *c, const char *address, int node, size_t size)
{
	void *context = NULL;
	int device = 0, err;

	if (!load_library(c) || !CALL(c, init, 0) || !CALL(c, find, &device, address))
		return false;
	if (c->vendor == CUDA && (!CALL(c, retain, &context, device) || !CALL(c, enter, context)))
		return false;
	if (c->vendor == HIP && !CALL(c, choose, device))
		return false;
	err = verify_stream_open(&c->host, node, size, -1);
	/* Containers may forbid binding memory. */
	if (err == -EPERM || err == -ENOSYS)
		err = verify_stream_open(&c->host, -1, size, -1);
	if (!err)
		err = verify_stream_elsewhere(&c->host, &c->reply.elsewhere);
	if (err)
		return REFUSE(c, "no host memory: %s", strerror(-err));
	/* Portable; a stream that does not wait for the default one. The first copies also let the
	 * link leave its power-saving state. */
	return CALL(c, pin, c->host.base, c->host.size, 1) &&
	       CALL(c, allocate, &c->memory[0], c->host.size) &&
	       CALL(c, allocate, &c->memory[1], c->host.size) &&
	       CALL(c, stream, &c->streams[0], 1) && CALL(c, stream, &c->streams[1], 1) &&
	       copy(c, TO_GPU, c->host.size) && wait_all(c) && copy(c, WITHIN_GPU, c->host.size) &&
	       wait_all(c) && copy(c, FROM_GPU, c->host.size) && wait_all(c);
}

static bool copy_amount(struct child *c, const struct gpu_request *r)
{
	struct gpu_reply *to = &c->reply;

	to->begin_ns = cli_now_ns();
	for (unsigned i = 1; to->bytes < r->bytes; i++) {
		const size_t rest = r->bytes - to->bytes, part = rest < r->copy ? rest : r->copy;

		if ((r->load != VERIFY_GPU_WRITE && !copy(c, TO_GPU, part)) ||
		    (r->load != VERIFY_GPU_READ && !copy(c, FROM_GPU, part)) ||
		    (i % QUEUED == 0 && !wait_all(c)))
			return false;
		to->bytes += part;
	}
	if (!wait_all(c))
		return false;
	to->end_ns = cli_now_ns();
	return true;
}

static bool copy_steadily(struct child *c)
{
	unsigned quarters;

	while ((quarters = atomic_load(&c->steady->quarters)) != STOP) {
		const uint64_t begin = cli_now_ns();
		struct timespec pause = cli_time_of(IDLE);

		if (quarters && (!copy(c, WITHIN_GPU, STEADY) || !wait_all(c)))
			return false;
		if (quarters) {
			atomic_fetch_add(&c->steady->bytes, STEADY);
			pause = cli_time_of((cli_now_ns() - begin) * (4 - quarters) / quarters);
		}
		if (quarters < 4)
			nanosleep(&pause, NULL);
	}
	return true;
}

/* The command may have capabilities (setcap). The vendor's library, and what its environment makes
 * it load, gets none of them. Root keeps its own. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0}};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return geteuid() == 0 || syscall(SYS_capset, &head, none) == 0;
}

/* The child keeps its socket, and no other file or lock of this process. */
static void serve(struct child *c, const char *address, int node, size_t size)
{
	const struct rlimit none = {0, 0};
	struct gpu_request r;

	setpgid(0, 0); /* Ctrl-C is for the other process, which ends this one */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	for (int fd = STDERR_FILENO + 1; fd < FILES_MOST; fd++)
		if (fd != c->socket)
			close(fd);
	if (!drop_capabilities())
		_exit(1);
	start(c, address, node, size);
	while (send(c->socket, &c->reply, sizeof(c->reply), MSG_NOSIGNAL) == sizeof(c->reply) &&
	       !*c->reply.why && recv(c->socket, &r, sizeof(r), 0) == sizeof(r)) {
		c->reply = (struct gpu_reply){0};
		if (r.load == VERIFY_GPU_COPY)
			copy_steadily(c);
		else
			copy_amount(c, &r);
	}
	_exit(0);
}

/* ---- this process ---- */

/* Waits for the end of the child, which is killed after a tenth of a second, or `now`. A process
 * that does not even end then is left. Returns its status; -1: unknown. */
static int end(struct gpu *g, bool now)
{
	const struct timespec pause = cli_time_of(10 * NS_PER_MS);
	int status = -1;

	for (unsigned i = 0; i < 500; i++) {
		if (now || i == 10)
			kill(g->child, SIGKILL);
		if (waitpid(g->child, &status, WNOHANG))
			break;
		nanosleep(&pause, NULL);
	}
	g->child = 0;
	return status;
}

void gpu_close(struct gpu *g)
{
	if (g->child)
		end(g, true);
	/* Only a GPU that was opened has this. */
	if (!g->steady)
		return;
	munmap(g->steady, sizeof(*g->steady));
	g->steady = NULL;
	if (g->socket >= 0)
		close(g->socket);
}

static int died(struct gpu *g)
{
	const int status = end(g, false);

	if (WIFSIGNALED(status))
		snprintf(g->why, GPU_WHY, "its vendor's library crashed: signal %d, %s",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(g->why, GPU_WHY, "its vendor's library ended the process: status %d",
			 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return -EIO;
}

static int take_reply(struct gpu *g, struct gpu_reply *r, uint64_t patience_ns, int stop_fd)
{
	const uint64_t begin = cli_now_ns();

	for (uint64_t now = begin; now - begin < patience_ns; now = cli_now_ns()) {
		struct pollfd fds[] = {{.fd = g->socket, .events = POLLIN},
				       {.fd = stop_fd, .events = POLLIN}};

		poll(fds, 2, (int)((begin + patience_ns - now) / NS_PER_MS) + 1);
		if (fds[1].revents)
			return -EINTR;
		if (!fds[0].revents)
			continue;
		if (recv(g->socket, r, sizeof(*r), 0) != sizeof(*r))
			return died(g);
		memcpy(g->why, r->why, GPU_WHY);
		if (!*r->why)
			return 0;
		end(g, false);
		return -EIO;
	}
	snprintf(g->why, GPU_WHY, "its vendor's library did not return within %.0f s",
		 (double)patience_ns / 1e9);
	end(g, true);
	return -EIO;
}

bool gpu_prepare(struct gpu *g, const char *address, bool amd, int node, size_t size,
		 uint64_t patience_ns)
{
	struct child c = {.vendor = amd ? HIP : CUDA};
	int sockets[2] = {-1, -1}, err = 0;
	struct gpu_reply r;

	*g = (struct gpu){.socket = -1, .size = size, .patience_ns = patience_ns};
	c.steady = mmap(NULL, sizeof(*c.steady), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (c.steady == MAP_FAILED) {
		err = errno;
	} else {
		g->steady = c.steady;
		err = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) ? errno : 0;
	}
	g->socket = sockets[0];
	c.socket = sockets[1];
	if (!err) {
		g->child = fork();
		err = g->child < 0 ? errno : 0;
	}
	if (!err && !g->child)
		serve(&c, address, node, size);
	if (c.socket >= 0)
		close(c.socket);
	if (err) {
		g->child = 0;
		snprintf(g->why, GPU_WHY, "no process for it: %s", strerror(err));
	}
	if (err || take_reply(g, &r, patience_ns, -1)) {
		gpu_close(g);
		return false;
	}
	g->elsewhere = r.elsewhere;
	return true;
}

static int request(struct gpu *g, enum verify_load load, size_t bytes)
{
	const struct gpu_request r = {.load = load, .bytes = bytes, .copy = g->copy};

	if (!g->child)
		return -EIO;
	return send(g->socket, &r, sizeof(r), MSG_NOSIGNAL) == sizeof(r) ? 0 : died(g);
}

static int run(void *context, size_t bytes, int stop_fd)
{
	struct gpu *g = context;
	struct gpu_reply r;
	int err = bytes ? request(g, g->load, bytes) : 0;

	if (err || !bytes)
		return err;
	err = take_reply(g, &r, g->patience_ns + bytes * NS_PER_S / SLOWEST, stop_fd);
	if (!err && r.bytes != bytes) {
		snprintf(g->why, GPU_WHY, "%zu of %zu bytes were copied", r.bytes, bytes);
		return -EIO;
	}
	if (!err) {
		g->bytes += (double)bytes;
		g->busy_ns += (double)(r.end_ns - r.begin_ns);
	}
	return err;
}

struct verify_work gpu_work(struct gpu *g, enum verify_load load, size_t copy)
{
	g->load = load;
	g->copy = copy;
	g->bytes = g->busy_ns = 0;
	return (struct verify_work){
		.context = g, .run = run, .unit = UNIT, .least = UNIT, .most = MOST};
}

/* Reads the counters in the middle of two readings of what is copied. */
static int read_both(struct gpu *g, const struct verify_pace *pace, struct verify_reading *into,
		     double *bytes)
{
	const uint64_t before = atomic_load(&g->steady->bytes);
	int err = pace->read(pace->context, into);

	*bytes = (double)(before + atomic_load(&g->steady->bytes)) / 2;
	return err;
}

int gpu_steady_rounds(struct verify_series *s, struct gpu *g, const struct verify_pace *pace)
{
	static const unsigned levels[] = {4, 0, 2, 1, 0, 4, 1, 2};
	const unsigned count = sizeof(levels) / sizeof(*levels);
	auto_free struct verify_reading *unused = cli_realloc(NULL, s->cell_count, sizeof(*unused));
	struct gpu_reply r;
	int err, ended;

	atomic_store(&g->steady->quarters, 0);
	err = request(g, VERIFY_GPU_COPY, 0);
	/* The process answers only at the end, unless it fails. */
	for (unsigned i = 0; !err && i < count && !verify_stopped(g->socket); i++) {
		const uint64_t begin = cli_now_ns();
		double from, to;

		atomic_store(&g->steady->quarters, levels[i]);
		if (pace->show)
			pace->show(pace->context, i, count);
		err = cli_sleep_until(begin + LEAD, pace->stop_fd);
		if (!err)
			err = read_both(g, pace, unused, &from);
		if (!err)
			err = cli_sleep_until(begin + LEAD + pace->round_ns, pace->stop_fd);
		if (!err) {
			struct verify_reading *into = verify_add_round(s, 0);

			err = read_both(g, pace, into, &to);
			s->moved[s->round_count - 1] = to - from;
		}
	}
	atomic_store(&g->steady->quarters, STOP);
	ended = g->child ? take_reply(g, &r, g->patience_ns, -1) : -EIO;
	return err ? err : ended;
}
