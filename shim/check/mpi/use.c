/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps an MPI that is there from working, or from working fast: its
 * transports over InfiniBand and between processes of a node, the guard
 * against root, the way to other nodes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"
#include "check/ib/ib.h"
#include "check/machine.h"
#include "check/software.h"
#include "from/sources.h"
#include "image/image.h"

/* The Open MPI that programs load, else one that lies apart; NULL: none. */
static const struct ri_mpi_library *find_openmpi(const struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi(checking);

	for (size_t i = 0; i < mpi->library_count; i++)
		if (mpi->libraries[i].family == RI_MPI_OPENMPI)
			return &mpi->libraries[i];
	return NULL;
}

static const struct ri_mpi_library *find_judged(struct ri_checking *checking)
{
	const struct ri_mpi_library *library = find_openmpi(checking);

	if (library == NULL)
		ri_check_skip(checking, "libmpi", "no Open MPI is installed");
	else if (ri_ib_demand(checking) == NULL && !ri_ib_has_infiniband(checking))
		ri_check_skip(checking, library->file.path, "no InfiniBand is here");
	else
		return library;
	return NULL;
}

static void check_mca(struct ri_checking *checking)
{
	const struct ri_mpi_library *library = find_judged(checking);
	char quoted[RI_QUOTE_SIZE], where[40] = "";
	struct ri_mca_value pml;
	struct ri_mca mca;

	if (library == NULL)
		return;
	ri_mca_init(&mca, ri_check_loader(checking)->image, library->prefix);
	if (!ri_mca_get(&mca, "pml", &pml)) {
		ri_check_pass(checking, library->file.path, "no setting restricts its transports");
	} else if (ri_mca_takes(pml.value, "ucx")) {
		ri_check_pass(checking, pml.origin, "allows UCX");
	} else {
		if (pml.line > 0)
			snprintf(where, sizeof(where), "line %zu, pml = ", pml.line);
		ri_check_lack(checking, RI_CODE_MPI_MCA_UCX_OFF, pml.origin,
			"%s%s%s keeps Open MPI off InfiniBand, which it uses through UCX", where,
			ri_quote(quoted, sizeof(quoted), pml.value), pml.line > 0 ? "," : "");
	}
}

const struct ri_check ri_check_mpi_mca = {
	.summary = "no setting keeps Open MPI off InfiniBand",
	.reads = "OMPI_MCA_pml, HOME/.openmpi/mca-params.conf, PREFIX/etc/openmpi-mca-params.conf "
		"and /etc/openmpi (opal/mca/base/mca_base_var.c)",
	.fails = "a setting excludes UCX while an InfiniBand adapter is here, as in the file that "
		"Debian and Ubuntu ship; a warning if ib or ofed is requested",
	.advice = "in the job or the image: OMPI_MCA_pml=ucx and OMPI_MCA_osc=ucx; NCCL is not "
		"affected",
	RI_CHECK_WISHES(RI_ABOUT(IB) | RI_ABOUT(OFED)),
	.in_image = true,
	.run = check_mca,
};

static void check_ucx(struct ri_checking *checking)
{
	const struct ri_mpi_library *library = find_judged(checking);

	if (library == NULL)
		return;
	if (library->ucx || library->ofi) {
		ri_check_pass(checking, library->file.path, "can use %s%s%s",
			library->ucx ? "UCX" : "", library->ucx && library->ofi ? " and " : "",
			library->ofi ? "libfabric" : "");
		return;
	}
	ri_check_lack(checking, RI_CODE_MPI_UCX_MISSING, library->file.path,
		"was built without UCX and libfabric, so it uses TCP");
}

const struct ri_check ri_check_mpi_ucx = {
	.summary = "Open MPI can use InfiniBand",
	.reads = "mca_pml_ucx.so and mca_mtl_ofi.so in the folder of its components, and libucp "
		"and libfabric among the libraries that its library needs",
	.fails = "an InfiniBand adapter is here and Open MPI has neither; a warning if ib or ofed "
		"is requested",
	.advice = "inside the image: build it with --with-ucx, or use one built that way, such "
		"as HPC-X; NCCL does not need it",
	RI_CHECK_WISHES(RI_ABOUT(IB) | RI_ABOUT(OFED)),
	.in_image = true,
	.run = check_ucx,
};

static bool is_one(const struct ri_env *env, const char *name)
{
	const char *value = ri_env_get(env, name);

	return value != NULL && strcmp(value, "1") == 0;
}

static void check_root(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi(checking);
	const char *path = mpi->launcher_count == 0 ? "mpirun" : mpi->launchers[0].program.path;
	struct ri_status status;

	if (mpi->launcher_count == 0 || mpi->launchers[0].family != RI_MPI_OPENMPI) {
		ri_check_skip(checking, path, "is not from Open MPI");
	} else if (ri_source_mpi(checking->topology->identity) != RI_SOURCE_NO_MPI) {
		ri_check_skip(checking, path, "the ranks are already started");
	} else if (!ri_machine_status(checking->host, &status)) {
		ri_check_unknown(checking, RI_CODE_MPI_ROOT_UNKNOWN, path,
			"cannot tell which user this is");
	} else if (status.uid != 0) {
		ri_check_pass(checking, path, "would not be started by root");
	} else if (is_one(checking->env, "OMPI_ALLOW_RUN_AS_ROOT") &&
		is_one(checking->env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")) {
		ri_check_pass(checking, path, "may be started by root");
	} else {
		ri_check_lack(checking, RI_CODE_MPI_ROOT_GUARD, path,
			"refuses to run as root, and this process is root");
	}
}

const struct ri_check ri_check_mpi_root = {
	.summary = "the user of this process may start mpirun of Open MPI",
	.reads = "the user of /proc/self/status, OMPI_ALLOW_RUN_AS_ROOT and "
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM (Open MPI, mpirun(1))",
	.fails = "it is from Open MPI, this process is root, and the two variables are not both 1",
	.advice = "in the image or the job: OMPI_ALLOW_RUN_AS_ROOT=1 and "
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or mpirun --allow-run-as-root",
	.run = check_root,
};

/* Filters of system calls see no difference between our own memory and another's. */
static bool is_forbidden(void)
{
	char from = 'x', to;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	return syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) < 0 &&
		(errno == EPERM || errno == ENOSYS);
}

static void say_cma(struct ri_checking *checking, const char *why)
{
	const struct ri_mpi_library *library = find_openmpi(checking);
	struct ri_mca_value told;
	struct ri_mca mca;

	if (library != NULL)
		ri_mca_init(&mca, ri_check_loader(checking)->image, library->prefix);
	/*
	 * Open MPI may have been told to do without: version 4 by the mechanism of its btl vader,
	 * 5 by the components of smsc (opal/mca/btl/vader, opal/mca/smsc).
	 */
	if (library != NULL && ((ri_mca_get(&mca, "btl_vader_single_copy_mechanism", &told) &&
			strcmp(told.value, "cma") != 0) ||
		(ri_mca_get(&mca, "smsc", &told) && !ri_mca_takes(told.value, "cma")))) {
		ri_check_pass(checking, told.origin, "tells Open MPI not to use it");
		return;
	}
	ri_check_lack(checking, RI_CODE_MPI_CMA_DENIED, "process_vm_readv",
		"%s: ranks of a node copy twice, or fill the log with errors", why);
	if (checking->ranks > 1)
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_MPI));
}

static void check_cma(struct ri_checking *checking)
{
	const char *subject = "process_vm_readv";
	struct ri_status status;
	bool known = ri_machine_status(checking->host, &status);
	char scope[16];

	if (ri_check_mpi_loaded(checking)->library_count == 0)
		ri_check_skip(checking, subject, "no MPI is here to need it");
	else if (known && ri_status_has(&status, RI_CAP_SYS_PTRACE) &&
		(checking->host->live ? !is_forbidden() : status.seccomp == 0))
		ri_check_pass(checking, subject, "may be used");
	else if (checking->host->live && is_forbidden())
		say_cma(checking, "a system call filter forbids it");
	/* Open MPI and UCX name themselves as ones who may be read, which counts up to 1 */
	else if (ri_host_read(checking->host, "proc/sys/kernel/yama/ptrace_scope", scope,
			 sizeof(scope)) > 0 && scope[0] > '1')
		say_cma(checking, "/proc/sys/kernel/yama/ptrace_scope forbids it");
	else if (!checking->host->live && (!known || status.seccomp != 0))
		ri_check_unknown(checking, RI_CODE_MPI_CMA_UNKNOWN, subject,
			"a recorded machine does not show what its system call filter allows");
	else
		ri_check_pass(checking, subject, "may be used");
}

const struct ri_check ri_check_mpi_cma = {
	.summary = "ranks of a node may read each other's memory",
	.reads = "process_vm_readv(2) of rankinit's own memory, capabilities, "
		"/proc/sys/kernel/yama/ptrace_scope (kernel documentation, "
		"admin-guide/LSM/Yama.rst), OMPI_MCA_btl_vader_single_copy_mechanism and "
		"OMPI_MCA_smsc (Open MPI opal/mca/btl/vader, opal/mca/smsc)",
	.fails = "a seccomp filter or Yama forbids it, and Open MPI is not set to work without it; "
		"a warning in an MPI job with several ranks here",
	.advice = "outside the image: docker run --cap-add SYS_PTRACE; Kubernetes: "
		"securityContext.capabilities.add SYS_PTRACE; or in the job: "
		"OMPI_MCA_btl_vader_single_copy_mechanism=none (Open MPI 4), OMPI_MCA_smsc=^cma "
		"(5)",
	.topics = RI_ABOUT(MPI),
	.run = check_cma,
};

static void check_ssh(struct ri_checking *checking)
{
	struct ri_program ssh;

	if (ri_check_mpi(checking)->launcher_count == 0)
		ri_check_skip(checking, "ssh", "no launcher is here to need it");
	else if (ri_program_find(ri_check_loader(checking)->image, "ssh", &ssh))
		ri_check_pass(checking, ssh.path, "is installed");
	else if (!ri_topology_is_wide(checking->topology) ||
		ri_source_mpi(checking->topology->identity) != RI_SOURCE_NO_MPI)
		ri_check_note(checking, RI_CODE_MPI_SSH_MISSING, "ssh",
			"is not on PATH; mpirun needs it to start ranks on other nodes");
	else
		ri_check_lack(checking, RI_CODE_MPI_SSH_MISSING, "ssh",
			"is not on PATH; mpirun needs it to start ranks on the other nodes");
	if (checking->results[0].code == RI_CODE_MPI_SSH_MISSING)
		ri_check_advise(checking);
}

const struct ri_check ri_check_mpi_ssh = {
	.summary = "mpirun can reach other nodes",
	.reads = "PATH for ssh (Open MPI, plm_rsh_agent)",
	.fails = "a launcher is here, the job has several nodes, and ssh is missing",
	.advice = "inside the image: apt-get install openssh-client; not needed if an "
		"orchestrator or srun starts the ranks",
	.in_image = true,
	.run = check_ssh,
};
