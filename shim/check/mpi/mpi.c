/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI of the image: is there one, which, and do the launcher and the
 * library that programs load belong together? A rank whose launcher speaks
 * another language takes itself for rank 0 of 1, and no message says so. And
 * what keeps an MPI that is there from working, or from working fast.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"
#include "check/lookups.h"
#include "check/machine.h"
#include "from/sources.h"
#include "probe/prober.h"
#include "system/clock.h"

/* Has the loader a way to it? Broken ones count: that is where it ends. */
static bool is_found(const struct ri_mpi_library *library)
{
	return library->file.place != RI_LIBRARY_APART;
}

static const char *describe(char *out, size_t size, enum ri_mpi_family family, const char *version)
{
	snprintf(out, size, "%s%s%s", ri_mpi_family_name(family), version[0] == '\0' ? "" : " ",
		version);
	return out;
}

static void ask_mpi(struct ri_checking *checking)
{
	ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_MPI));
}

static void say_apart(struct ri_checking *checking, const struct ri_mpi_library *library)
{
	const struct ri_demand *demand = ri_demands_find(checking->demands, RI_TOPIC_MPI);
	const struct ri_mpi *mpi = ri_check_mpi(checking);
	/* its launcher and its compiler wrappers, first on PATH, tell programs where it is */
	bool launched = mpi->launcher_count > 0 &&
		strcmp(mpi->launchers[0].prefix, library->prefix) == 0;

	ri_check_lack(checking, RI_CODE_MPI_PRESENT_APART, library->file.path,
		"is in a folder that the loader does not search");
	if (demand != NULL && (demand->asker != RI_ASKER_SOURCE || !launched))
		ri_check_asked(checking, demand);
	ri_check_hint(checking, "inside the image: ENV LD_LIBRARY_PATH=%.*s, or add its folder to "
		"/etc/ld.so.conf.d and run ldconfig; a program linked with -rpath finds it "
		"anyway", (int)(strrchr(library->file.path, '/') - library->file.path),
		library->file.path);
}

/* The first that the loader finds, or passes over, and that is whole or not. */
static const struct ri_mpi_library *find_first(const struct ri_mpi *mpi, bool found, bool whole)
{
	for (size_t i = 0; i < mpi->library_count; i++)
		if (is_found(&mpi->libraries[i]) == found &&
			(mpi->libraries[i].file.fault == RI_ELF_OK) == whole)
			return &mpi->libraries[i];
	return NULL;
}

static void check_present(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi_loaded(checking);
	const struct ri_mpi_library *library = find_first(mpi, true, true), *broken, *apart;
	struct ri_library file;
	char what[64];

	if (library != NULL) {
		ri_check_pass(checking, library->file.path, "%s",
			describe(what, sizeof(what), library->family, library->version));
		return;
	}
	broken = find_first(mpi, true, false);
	apart = find_first(ri_check_mpi(checking), false, true);
	/* a library for another machine, or a table that names what is gone, is a likely cause */
	ri_loader_find(ri_check_loader(checking), "libmpi.so.40", &file);
	if (broken != NULL) {
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_BROKEN, broken->file.path,
			"%s, and the loader uses it, from %s",
			ri_check_library_fault(&broken->file),
			ri_library_place_name(broken->file.place));
		ask_mpi(checking);
		ri_check_hint(checking, "inside the image: install it again, or take its folder "
			"off LD_LIBRARY_PATH");
		return;
	}
	if (apart != NULL) {
		say_apart(checking, apart);
		return;
	}
	if (file.foreign != NULL)
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_FOREIGN, file.foreign,
			"is for %s, and there is no other", ri_elf_machine_name(file.machine));
	else if (file.gone != NULL)
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_MISSING, file.gone,
			"is listed in /etc/ld.so.cache, but missing");
	else
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_MISSING, "libmpi",
			"this image has no MPI library");
	ask_mpi(checking);
}

const struct ri_check ri_check_mpi_present = {
	.summary = "programs find an MPI library",
	.reads = "LD_LIBRARY_PATH, /etc/ld.so.cache and the loader's folders (ld.so(8)) for the "
		"names of Open MPI, MPICH, Intel MPI and MVAPICH2",
	.fails = "it is missing, damaged, for another processor, or in a folder that the loader "
		"does not search; a warning in an MPI job, unless the library's own mpirun is "
		"first on PATH",
	.advice = "inside the image: a base image with MPI, or apt-get install openmpi-bin "
		"libopenmpi-dev (or mpich)",
	.topics = RI_ABOUT(MPI),
	.in_image = true,
	.run = check_present,
};

static void check_launcher(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi(checking);
	const struct ri_mpi_launcher *launcher = mpi->launchers;
	char what[64];

	if (mpi->launcher_count + mpi->library_count == 0 &&
		ri_demands_check(checking->demands, checking->number, false) == NULL) {
		ri_check_skip(checking, "mpirun", "no MPI is installed");
	} else if (mpi->launcher_count == 0) {
		ri_check_lack(checking, RI_CODE_MPI_LAUNCHER_MISSING, "mpirun",
			"neither mpirun nor mpiexec is on PATH");
	} else if (launcher->lacks_prterun) {
		ri_check_lack(checking, RI_CODE_MPI_LAUNCHER_PRTERUN, launcher->program.path,
			"belongs to Open MPI 5 and executes prterun, which is missing");
		ri_check_hint(checking, "inside the image: copy the whole installation, or install "
			"PRRTE");
	} else {
		ri_check_pass(checking, launcher->program.path, "%s",
			describe(what, sizeof(what), launcher->family, launcher->version));
	}
}

const struct ri_check ri_check_mpi_launcher = {
	.summary = "mpirun is on PATH, together with the programs that it runs",
	.reads = "PATH for mpirun, mpiexec and similar, prterun for Open MPI 5 (its "
		"ompi/tools/mpirun)",
	.fails = "mpirun is missing, or that of Open MPI 5 has no prterun",
	.advice = "inside the image: only needed if ranks are started from inside; apt-get "
		"install openmpi-bin, or put its folder on PATH",
	.in_image = true,
	.run = check_launcher,
};

/*
 * Who has started this rank, or would start ranks from here: *launcher, which
 * is NULL for the first.
 */
static enum ri_mpi_family find_starter(const struct ri_checking *checking,
	const struct ri_mpi_launcher **launcher)
{
	static const enum ri_mpi_family families[] = {
		[RI_SOURCE_OPENMPI] = RI_MPI_OPENMPI, [RI_SOURCE_MPICH] = RI_MPI_MPICH,
		[RI_SOURCE_MVAPICH2] = RI_MPI_MVAPICH2,
	};
	enum ri_source_mpi source = ri_source_of(checking->topology->identity)->mpi;
	const struct ri_mpi *mpi;

	*launcher = NULL;
	if (source != RI_SOURCE_NO_MPI)
		return families[source];
	mpi = ri_check_mpi(checking);
	if (mpi->launcher_count == 0)
		return RI_MPI_UNKNOWN;
	*launcher = mpi->launchers;
	return mpi->launchers[0].family;
}

/* The library a program would load that the starter speaks to, else the first one. */
static const struct ri_mpi_library *find_partner(const struct ri_mpi *mpi,
	enum ri_mpi_family starter)
{
	for (size_t i = 0; i < mpi->library_count; i++) {
		const struct ri_mpi_library *library = &mpi->libraries[i];

		if (is_found(library) && library->file.fault == RI_ELF_OK &&
			ri_mpi_fits(starter, library->family))
			return library;
	}
	return find_first(mpi, true, true);
}

static void check_match(struct ri_checking *checking)
{
	const struct ri_mpi_launcher *launcher;
	enum ri_mpi_family starter = find_starter(checking, &launcher);
	const struct ri_mpi_library *library = find_partner(ri_check_mpi_loaded(checking), starter);
	const char *subject = launcher == NULL ? checking->topology->identity
					       : launcher->program.path;
	const char *version = launcher == NULL ? "" : launcher->version;
	size_t series = strcspn(version, ".");
	char what[64];

	if (launcher == NULL && starter == RI_MPI_UNKNOWN) {
		ri_check_skip(checking, "mpirun", "no launcher is here to compare");
	} else if (library == NULL) {
		ri_check_skip(checking, subject, "no MPI library that programs find is here");
	} else if (!ri_mpi_fits(starter, library->family)) {
		ri_check_lack(checking, RI_CODE_MPI_MATCH_MIXED, subject,
			"%s starts the ranks, but the library that they load is %s (%s): each "
			"would be rank 0 of 1", ri_mpi_family_name(starter),
			describe(what, sizeof(what), library->family, library->version),
			library->file.path);
		ask_mpi(checking);
	} else if (starter == library->family && version[0] != '\0' &&
		library->version[0] != '\0' &&
		(series != strcspn(library->version, ".") ||
			strncmp(version, library->version, series) != 0)) {
		/* versions mostly understand each other, those of a series surely */
		ri_check_lack(checking, RI_CODE_MPI_MATCH_SERIES, subject,
			"is version %s, but the library that programs load is version %s (%s)",
			version, library->version, library->file.path);
		ri_check_hint(checking, "inside the image: keep one of them");
	} else {
		ri_check_pass(checking, subject, "matches %s", library->file.path);
	}
}

const struct ri_check ri_check_mpi_match = {
	.summary = "the launcher and the library match",
	.reads = "what the fact `mpi` and mpi.launcher read; in an MPI job, the launcher whose "
		"variables are set",
	.fails = "no library that programs find can talk to the launcher: PMIx with Open MPI, PMI "
		"with MPICH and its relatives; or they are of different series. A warning in an "
		"MPI job",
	.advice = "inside the image: put the folder of one MPI first on both PATH and "
		"LD_LIBRARY_PATH; with conda, remove its MPI or use it for both",
	.topics = RI_ABOUT(MPI),
	.in_image = true,
	.run = check_match,
};

static void try_library(struct ri_checking *checking, const struct ri_mpi_library *library,
	int64_t until)
{
	static struct ri_prober prober;
	const char *path = library->file.path, *text = prober.said.text;
	char version[RI_MPI_VERSION];
	enum ri_mpi_family family;

	ri_prober_run(&prober, checking, "mpi", path, 0, until);
	family = ri_mpi_read_answer(text, version);
	if (!ri_prober_judge(checking, &prober, &library->file, RI_CODE_MPI_VERSION_CRASHED,
		RI_CODE_MPI_VERSION_HUNG)) {
		ask_mpi(checking);
	} else if (!prober.said.load.ok) {
		ri_check_lack(checking, RI_CODE_MPI_VERSION_UNLOADED, path,
			"cannot be loaded: %.200s", text);
		ask_mpi(checking);
	} else if (!prober.said.version.ok) {
		ri_check_unknown(checking, RI_CODE_MPI_VERSION_UNKNOWN, path,
			"does not report its version: error %u", prober.said.version.error);
	} else if (family == RI_MPI_UNKNOWN) {
		ri_check_unknown(checking, RI_CODE_MPI_VERSION_UNKNOWN, path,
			"reports itself as \"%.100s\", which rankinit does not know", text);
	} else if (library->family != RI_MPI_UNKNOWN && library->family != family) {
		/* the file has the marks of one, and passes calls on to another */
		ri_check_note(checking, RI_CODE_MPI_VERSION_OTHER, path,
			"has the marks of %s, but reports itself as %s %s",
			ri_mpi_family_name(library->family), ri_mpi_family_name(family), version);
	} else {
		ri_check_pass(checking, path, "%s %s, as it reports itself",
			ri_mpi_family_name(family), version);
	}
}

static void check_version(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi_loaded(checking);
	int64_t until = ri_now_us() + RI_PROBER_MS * 1000;
	struct ri_library file;
	char what[200];

	for (size_t i = 0; i < mpi->library_count; i++)
		try_library(checking, &mpi->libraries[i], until);
	if (checking->count > 0)
		return;
	ri_loader_find(ri_check_loader(checking), "libmpi.so.40", &file);
	if (ri_prober_says_lost(what, sizeof(what), &file))
		ri_check_lack(checking, RI_CODE_MPI_VERSION_MISSING, "libmpi.so.40", "%s", what);
	else
		ri_check_unprobed(checking, "libmpi", what);
}

const struct ri_check ri_check_mpi_version = {
	.summary = "the MPI library can be loaded and reports its version",
	.reads = "MPI_Get_library_version of each library that programs find (MPI 3.1, 8.1.1), in "
		"a separate process that gets two seconds",
	.fails = "a library cannot be loaded, ends that process or does not return; unknown "
		"without rankinit-probe",
	.advice = "inside the image: install it again, with all libraries that it needs; \"ldd\" "
		"shows which one is missing",
	RI_CHECK_PROBES("mpi", RI_PROBER_CHECK_MS),
	.topics = RI_ABOUT(MPI),
	.run = check_version,
};

/* --- transports, the guard against root, the way to other nodes ------------- */

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
	char where[40] = "";
	struct ri_mca_value pml;

	if (library == NULL)
		return;
	if (!ri_mca_get(ri_check_loader(checking)->image, library->prefix, "pml", &pml)) {
		ri_check_pass(checking, library->file.path, "no setting restricts its transports");
	} else if (ri_mca_takes(pml.value, "ucx")) {
		ri_check_pass(checking, pml.origin, "allows UCX");
	} else {
		if (pml.line > 0)
			snprintf(where, sizeof(where), "line %zu, pml = ", pml.line);
		ri_check_lack(checking, RI_CODE_MPI_MCA_UCX_OFF, pml.origin,
			"%s%s%s keeps Open MPI off InfiniBand, which it uses through UCX", where,
			RI_QUOTED(pml.value), pml.line > 0 ? "," : "");
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

static void check_root(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi(checking);
	const char *path = mpi->launcher_count == 0 ? "mpirun" : mpi->launchers[0].program.path;
	struct ri_status status;

	if (mpi->launcher_count == 0 || mpi->launchers[0].family != RI_MPI_OPENMPI) {
		ri_check_skip(checking, path, "is not from Open MPI");
	} else if (ri_source_of(checking->topology->identity)->mpi != RI_SOURCE_NO_MPI) {
		ri_check_skip(checking, path, "the ranks are already started");
	} else if (!ri_machine_status(checking->host, &status)) {
		ri_check_unknown(checking, RI_CODE_MPI_ROOT_UNKNOWN, path,
			"cannot tell which user this is");
	} else if (status.uid != 0) {
		ri_check_pass(checking, path, "would not be started by root");
	} else if (ri_check_is_one(checking, "OMPI_ALLOW_RUN_AS_ROOT") &&
		ri_check_is_one(checking, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")) {
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
	const struct ri_image *image = ri_check_loader(checking)->image;
	const char *prefix = library == NULL ? "" : library->prefix;
	struct ri_mca_value told;

	/*
	 * Open MPI may have been told to do without: version 4 by the mechanism of its btl vader,
	 * 5 by the components of smsc (opal/mca/btl/vader, opal/mca/smsc).
	 */
	if (library != NULL &&
		((ri_mca_get(image, prefix, "btl_vader_single_copy_mechanism", &told) &&
			strcmp(told.value, "cma") != 0) ||
		(ri_mca_get(image, prefix, "smsc", &told) && !ri_mca_takes(told.value, "cma")))) {
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
		ri_source_of(checking->topology->identity)->mpi != RI_SOURCE_NO_MPI)
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
