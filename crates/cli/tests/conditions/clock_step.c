/*
 * A wall clock that steps, for one process: LD_PRELOAD this library with CLOCK_STEP, the step in seconds, and CLOCK_STEP_AFTER, the
 * seconds after the program's start, or after its first accept(2) where CLOCK_STEP_FROM=accept, after which it steps.
 *
 * What the process reads of CLOCK_REALTIME is shifted from then on: clock_gettime(2), gettimeofday(2), time(2), SIOCGSTAMPNS, and the
 * kernel's timestamps of received messages, those taken after the step only.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef SCM_TIMESTAMP
#define SCM_TIMESTAMP SO_TIMESTAMP
#endif
/* Linux, include/uapi/asm-generic/socket.h and sockios.h. */
#define TIMESTAMPNS 35
#define TIMESTAMPING 37
#define STAMPNS_NEW 0x07

static int64_t step_s;
static int64_t after_ns;
/* The true wall clock's time of the step, ns; 0 while it is not known. */
static _Atomic int64_t at_ns;

static int64_t ns_of(const struct timespec *time)
{
	return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

static int64_t true_ns(void)
{
	struct timespec now;
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	return ns_of(&now);
}

static void begin(void)
{
	int64_t none = 0;
	atomic_compare_exchange_strong(&at_ns, &none, true_ns() + after_ns);
}

__attribute__((constructor)) static void prepare(void)
{
	const char *step = getenv("CLOCK_STEP"), *after = getenv("CLOCK_STEP_AFTER"), *from = getenv("CLOCK_STEP_FROM");
	step_s = step ? atoll(step) : 0;
	after_ns = after ? (int64_t)(atof(after) * 1e9) : 0;
	if (!from || strcmp(from, "accept"))
		begin();
}

/* What is added to a true time of the wall clock, s. */
static int64_t shift_s(int64_t true_time_ns)
{
	int64_t at = atomic_load(&at_ns);
	return at && true_time_ns >= at ? step_s : 0;
}

static void shift_timespec(struct timespec *time)
{
	if (time->tv_sec)
		time->tv_sec += shift_s(ns_of(time));
}

static void shift_timeval(struct timeval *time)
{
	if (time->tv_sec)
		time->tv_sec += shift_s(time->tv_sec * INT64_C(1000000000) + time->tv_usec * INT64_C(1000));
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		real = dlsym(RTLD_NEXT, "clock_gettime");
	int result = real(clock, time);
	if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		shift_timespec(time);
	return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	static int (*real)(struct timeval *, void *);
	if (!real)
		real = dlsym(RTLD_NEXT, "gettimeofday");
	int result = real(time, zone);
	if (!result)
		shift_timeval(time);
	return result;
}

time_t time(time_t *into)
{
	int64_t now = true_ns();
	time_t seconds = now / 1000000000 + shift_s(now);
	if (into)
		*into = seconds;
	return seconds;
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	static int (*real)(int, struct sockaddr *, socklen_t *, int);
	if (!real)
		real = dlsym(RTLD_NEXT, "accept4");
	int result = real(fd, address, length, flags);
	if (result >= 0)
		begin();
	return result;
}

static void shift_control(struct msghdr *message)
{
	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET)
			continue;
		int times = control->cmsg_type == TIMESTAMPNS ? 1 : control->cmsg_type == TIMESTAMPING ? 3 : 0;
		for (int nth = 0; nth < times; nth++) {
			struct timespec time;
			unsigned char *at = CMSG_DATA(control) + nth * sizeof time;
			memcpy(&time, at, sizeof time);
			shift_timespec(&time);
			memcpy(at, &time, sizeof time);
		}
		if (control->cmsg_type == SCM_TIMESTAMP) {
			struct timeval time;
			memcpy(&time, CMSG_DATA(control), sizeof time);
			shift_timeval(&time);
			memcpy(CMSG_DATA(control), &time, sizeof time);
		}
	}
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	static ssize_t (*real)(int, struct msghdr *, int);
	if (!real)
		real = dlsym(RTLD_NEXT, "recvmsg");
	ssize_t result = real(fd, message, flags);
	if (result >= 0)
		shift_control(message);
	return result;
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout)
{
	static int (*real)(int, struct mmsghdr *, unsigned int, int, struct timespec *);
	if (!real)
		real = dlsym(RTLD_NEXT, "recvmmsg");
	int result = real(fd, messages, count, flags, timeout);
	for (int nth = 0; nth < result; nth++)
		shift_control(&messages[nth].msg_hdr);
	return result;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	if (!real)
		real = dlsym(RTLD_NEXT, "ioctl");
	va_list rest;
	va_start(rest, request);
	void *argument = va_arg(rest, void *);
	va_end(rest);
	int result = real(fd, request, argument);
	if (!result && _IOC_TYPE(request) == 0x89 && _IOC_NR(request) == STAMPNS_NEW && argument)
		shift_timespec(argument);
	return result;
}
