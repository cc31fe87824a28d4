/*
 * An empty FUSE server, for benchmarks/emulator.py alone: the least that a mount can cost. It speaks /dev/fuse, has one file of zeros
 * and one loop, and does nothing else.
 *
 *     empty_fuse DESCRIPTOR SIZE    DESCRIPTOR of the mounted /dev/fuse, blocking; SIZE of the file "file" in bytes
 */
#include <errno.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_ID = 2, REQUEST_BYTES = 1 << 20, PAGE_BYTES = 4096 };

static int fuse;
static uint64_t file_bytes;
static char message[REQUEST_BYTES + PAGE_BYTES] __attribute__((aligned(4096)));
static char zeros[REQUEST_BYTES];

static void answer(uint64_t unique, int error, const void *data, size_t size)
{
    struct fuse_out_header header = {.len = sizeof header + size, .error = -error, .unique = unique};
    struct iovec parts[] = {{&header, sizeof header}, {(void *)data, size}};
    if (writev(fuse, parts, size ? 2 : 1) < 0 && errno != ENOENT)
        exit(1);
}

static struct fuse_attr attributes(uint64_t node)
{
    struct fuse_attr found = {.ino = node, .nlink = 1, .blksize = PAGE_BYTES};
    found.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0666;
    found.size = node == FUSE_ROOT_ID ? 0 : file_bytes;
    return found;
}

static void agree(const struct fuse_in_header *in, const struct fuse_init_in *offered)
{
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = offered->max_readahead};
    out.flags = offered->flags & (FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_ASYNC_DIO | FUSE_MAX_PAGES);
    out.max_background = 256;
    out.congestion_threshold = 192;
    out.max_write = REQUEST_BYTES;
    out.max_pages = REQUEST_BYTES / PAGE_BYTES;
    out.time_gran = 1;
    answer(in->unique, 0, &out, sizeof out);
}

static void serve(const struct fuse_in_header *in, const void *body)
{
    switch (in->opcode) {
    case FUSE_READ:
        answer(in->unique, 0, zeros, ((const struct fuse_read_in *)body)->size);
        break;
    case FUSE_WRITE: {
        struct fuse_write_out out = {.size = ((const struct fuse_write_in *)body)->size};
        answer(in->unique, 0, &out, sizeof out);
        break;
    }
    case FUSE_INIT:
        agree(in, body);
        break;
    case FUSE_LOOKUP: {
        struct fuse_entry_out out = {.nodeid = FILE_ID, .entry_valid = 3600, .attr_valid = 3600, .attr = attributes(FILE_ID)};
        if (strcmp(body, "file") == 0)
            answer(in->unique, 0, &out, sizeof out);
        else
            answer(in->unique, ENOENT, NULL, 0);
        break;
    }
    case FUSE_GETATTR: {
        struct fuse_attr_out out = {.attr_valid = 3600, .attr = attributes(in->nodeid)};
        answer(in->unique, 0, &out, sizeof out);
        break;
    }
    case FUSE_OPEN: {
        struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES};
        answer(in->unique, 0, &out, sizeof out);
        break;
    }
    case FUSE_RELEASE:
    case FUSE_FLUSH:
    case FUSE_FSYNC:
        answer(in->unique, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        answer(in->unique, ENOSYS, NULL, 0);
    }
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    fuse = atoi(words[1]);
    file_bytes = strtoull(words[2], NULL, 10);
    for (;;) {
        ssize_t length = read(fuse, message, sizeof message);
        if (length < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
            continue;
        if (length < (ssize_t)sizeof(struct fuse_in_header))
            return errno == ENODEV ? 0 : 1;
        serve((const struct fuse_in_header *)message, message + sizeof(struct fuse_in_header));
    }
}
