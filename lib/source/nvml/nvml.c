/* SPDX-License-Identifier: MIT */
/* The source of GPUs that NVIDIA's library NVML reads. */
#include "source/source.h"

static int nvml_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
		     struct unc_names *notes, struct unc_error *e)
{
	(void)source, (void)counters, (void)count, (void)notes;
	return unc_fail(e, EOPNOTSUPP, "NVML cannot be read yet");
}

static int nvml_read(struct unc_source *source, struct uncore_reading *into, uint64_t *now_ns,
		     struct unc_error *e)
{
	(void)source, (void)into, (void)now_ns, (void)e;
	return -EOPNOTSUPP;
}

static void nvml_close(struct unc_source *source)
{
	free(source);
}

const struct unc_source_ops unc_source_nvml = {
	.size = sizeof(struct unc_source),
	.open = nvml_open,
	.read = nvml_read,
	.close = nvml_close,
};
