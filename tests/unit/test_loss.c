/* SPDX-License-Identifier: Apache-2.0 */
/* Each row of losses.def, and what only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/class.h"
#include "words/read_words.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })

/* What a rank says, for each row of the table, in its order. */
static const struct {
	const char *symbol, *exception;
} samples[] = {
	{ "cuda",
		"RuntimeError: NCCL communicator was aborted on rank 1. Original reason "
		"for failure was: CUDA error: an illegal memory access was encountered" },
	{ "nccl_cuda",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"cuda error, NCCL version 2.18.1\nncclRemoteError" },
	{ "nccl_shm",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error\nLast error:\nError while creating shared memory segment "
		"/dev/shm/nccl-x" },
	{ "no_space",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error\nLast error:\n"
		"Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: "
		"No space left on device (28)" },
	{ "nccl_ib_gone",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error\nLast error:\n"
		"Call to ibv_modify_qp failed with 19 No such device, on dev mlx5_0:1" },
	{ "nccl_ib_memory",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error\nLast error:\n"
		"Call to ibv_alloc_pd failed with error Cannot allocate memory" },
	{ "nccl_ib_register",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error\nLast error:\n"
		"Call to ibv_reg_mr failed with error Bad address" },
	{ "nccl_ib_create",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error\nLast error:\n"
		"Call to ibv_create_cq failed with error Invalid argument" },
	{ "nccl_ib_fatal",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error\nLast error:\n"
		"NET/IB : mlx5_0:1 async fatal event: local catastrophic error" },
	{ "name_unknown",
		"torch.distributed.DistNetworkError: The client socket has failed to "
		"connect to any network address of (gpu-0, 29500). The IPv4 network "
		"addresses of (gpu-0, 29500) cannot be retrieved (gai error: "
		"-2 - Name or service not known)." },
	{ "name_server",
		"torch.distributed.DistNetworkError: The client socket has failed to "
		"connect to any network address of (gpu-0, 29500). The IPv4 network "
		"addresses of (gpu-0, 29500) cannot be retrieved (gai error: "
		"-3 - Temporary failure in name resolution)." },
	{ "name_no_address",
		"torch.distributed.DistNetworkError: The client socket has failed to "
		"connect to any network address of (gpu-0, 29500). The IPv4 network "
		"addresses of (gpu-0, 29500) cannot be retrieved (gai error: "
		"-5 - No address associated with hostname)." },
	{ "gloo_closed",
		"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:553] "
		"Connection closed by peer [127.0.0.1]:1451" },
	{ "gloo_reset",
		"RuntimeError: [/b/gloo/gloo/transport/tcp/pair.cc:537] Read error "
		"[10.0.0.1]:1: Connection reset by peer" },
	{ "gloo_pipe",
		"RuntimeError: [/b/gloo/gloo/transport/tcp/pair.cc:1] writev [10.0.0.1]:1: "
		"Broken pipe" },
	{ "gloo_refused",
		"RuntimeError: [/b/gloo/gloo/transport/tcp/pair.cc:1] connect [::1]:1: "
		"Connection refused" },
	{ "gloo_connect",
		"RuntimeError: [/b/gloo/gloo/transport/tcp/pair.cc:1] Connect timeout "
		"[10.0.0.1]:1" },
	{ "gloo_timeout",
		"RuntimeError: [/b/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out "
		"waiting 30000ms for recv operation to complete" },
	{ "gloo_pair",
		"RuntimeError: Application timeout caused pair closure" },
	{ "gloo_closed_socket",
		"RuntimeError: [/b/gloo/gloo/transport/tcp/pair.cc:1] Socket unexpectedly "
		"closed [10.0.0.1]:1" },
	{ "gloo_read_timeout",
		"RuntimeError: [/b/gloo/gloo/transport/tcp/pair.cc:1] Read timeout "
		"[10.0.0.1]:1" },
	{ "gloo_full_mesh",
		"RuntimeError: Gloo connectFullMesh failed with x" },
	{ "gloo_plain",
		"RuntimeError: Connection closed by peer [127.0.0.1]:4711" },
	{ "monitored_barrier",
		"RuntimeError: Rank 1 failed to pass monitoredBarrier in 2000 ms" },
	{ "monitored_barrier_rank_0",
		"RuntimeError: Rank 2 successfully reached monitoredBarrier, but received "
		"errors while waiting for send/recv from rank 0. Please check rank 0 logs "
		"for faulty rank." },
	{ "nccl_remote",
		"RuntimeError: NCCL error in: a.cpp:1, remote process exited or there was "
		"a network error, NCCL version 2.14.3" },
	{ "nccl_remote_error",
		"RuntimeError: ncclRemoteError: A call failed possibly due to a network "
		"error or a remote process exiting prematurely." },
	{ "nccl_system",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled "
		"system error, NCCL version 2.18.5" },
	{ "nccl_closed",
		"RuntimeError: socketProgress: Connection closed by remote peer n2<51377>" },
	{ "watchdog_timeout",
		"torch.distributed.DistBackendError: [Rank 0] Watchdog caught collective "
		"operation timeout: WorkNCCL(SeqNum=1)" },
	{ "nccl_timed_out",
		"RuntimeError: Some NCCL operations have failed or timed out." },
	{ "nccl_aborted",
		"RuntimeError: NCCL communicator was aborted on rank 1." },
	{ "nccl_dump",
		"RuntimeError: [PG 0 Rank 1] Received a dump signal due to a collective "
		"timeout from rank 0" },
	{ "heartbeat_monitor",
		"RuntimeError: [PG 0 Rank 1] Heartbeat monitor timed out! Process will be "
		"terminated after dumping debug info." },
	{ "nccl_dumped",
		"RuntimeError: [PG 0 Rank 1] Terminating the process after attempting to "
		"dump debug info, due to collective timeout or exception." },
	{ "nccl_proxy",
		"RuntimeError: NCCL error in: a.cpp:1, internal error, NCCL version "
		"2.14.3\nncclInternalError: Internal check failed.\nLast error:\nProxy "
		"Call to rank 3 failed (Connect)" },
	{ "watchdog_stuck",
		"RuntimeError: [PG 0 Rank 1] ProcessGroupNCCL's watchdog got stuck for "
		"600 seconds without making progress in monitoring enqueued collectives." },
	{ "detail_mismatch",
		"RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is "
		"running collective: x" },
	{ "store_key_clock",
		"RuntimeError: [1] is setting up NCCL communicator and retrieving "
		"ncclUniqueId from [0] via c10d key-value store by key '0', but "
		"store->get('0') got error: Socket Timeout" },
	{ "store_key_wait",
		"torch.distributed.DistBackendError: [1] is setting up NCCL communicator "
		"and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', "
		"but store->get('0') got error: wait timeout after 600000ms, keys: "
		"/default_pg/0//0" },
	{ "store_key",
		"torch.distributed.DistBackendError: [1] is setting up NCCL communicator "
		"and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', "
		"but store->get('0') got error: Connection reset by peer" },
	{ "store_get",
		"RuntimeError: [1] is setting up NCCL communicator and retrieving x" },
	{ "store_socket",
		"RuntimeError: Socket Timeout" },
	{ "store_wait",
		"torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /a/b" },
	{ "store_clients",
		"torch.distributed.DistStoreError: Timed out after 1801 seconds waiting "
		"for clients. 1/2 clients joined." },
	{ "store_key_timeout",
		"RuntimeError: Timeout waiting for key: default_pg/0/0 after 1800000 ms" },
	{ "store_barrier",
		"RuntimeError: Timed out initializing process group in store based barrier "
		"on rank: 1, for key: store_based_barrier_key:1 (world_size=4, "
		"worker_count=3, timeout=0:30:00)" },
	{ "store_shutdown",
		"torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. "
		"Connection was likely closed. Did the remote server shutdown or crash?" },
	{ "store_recv",
		"torch.distributed.DistNetworkError: recvValue failed on SocketImpl(fd=3)" },
	{ "store_recv_timeout",
		"torch.distributed.DistNetworkError: recvValueWithTimeout failed on "
		"SocketImpl(fd=3)" },
	{ "store_send",
		"torch.distributed.DistNetworkError: sendBytes failed on SocketImpl(fd=3)" },
	{ "store_reset",
		"RuntimeError: Connection reset by peer" },
	{ "store_pipe",
		"RuntimeError: Broken pipe" },
	{ "store_connect_timeout",
		"torch.distributed.DistNetworkError: The client socket has timed out after "
		"60000ms while trying to connect to (a, 29500)." },
	{ "store_connect",
		"torch.distributed.DistNetworkError: The client socket has failed to "
		"connect to any network address of (a, 29500)." },
	{ "rendezvous",
		"torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The "
		"connection to the C10d store has failed. See inner exception for details." },
	{ "store_refused",
		"RuntimeError: Connection refused" },
	{ "store_timed_out",
		"RuntimeError: Connection timed out" },
	{ "store_stopped",
		"RuntimeError: Stop_waiting response is expected" },
	{ "store_no_bytes",
		"torch.distributed.DistNetworkError: failed to recv, got 0 bytes" },
	{ "store_too_early",
		"RuntimeError: Failed to check the flag on TCPStore, (maybe TCPStore "
		"server has shut down too early), with error: x" },
	{ "rendezvous_timeout",
		"torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError" },
	{ "wrapper_barrier",
		"RuntimeError: ProcessGroupWrapper: Monitored Barrier encountered error "
		"running collective: x" },
	{ "rpc_eof",
		"RuntimeError: EOF: end of file (this error originated at "
		"tensorpipe/transport/uv/connection_impl.cc:132)" },
	{ "rpc_timeout",
		"RuntimeError: RPCErr:1:RPC ran for more than set timeout (60000 ms)" },
	{ "horovod_shut_down",
		"horovod.common.exceptions.HorovodInternalError: Horovod has been shut "
		"down. This was caused by an exception on one of the ranks" },
	{ "horovod_stall",
		"horovod.common.exceptions.HorovodInternalError: One or more rank (marked "
		"by \"!\") is stalled for longer than 120 seconds. Will shutdown." },
	{ "tf_aborted",
		"tensorflow.python.framework.errors_impl.UnavailableError: Collective ops "
		"is aborted by: Connection reset" },
	{ "tf_heartbeat",
		"jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: /job:jax_worker "
		"heartbeat timeout. This indicates that the remote task has failed, got "
		"preempted, or crashed unexpectedly." },
	{ "tf_unhealthy",
		"RuntimeError: The following tasks are unhealthy (stopped sending "
		"heartbeats): /job:worker/task:1" },
	{ "tf_leader",
		"RuntimeError: UNAVAILABLE: Failed to send RPC to coordination service." },
	{ "grpc_closed",
		"tensorflow.python.framework.errors_impl.UnavailableError: Socket closed" },
	{ "grpc_connect",
		"RuntimeError: UNAVAILABLE: failed to connect to all addresses; x" },
	{ "tf_abort_deadline",
		"RuntimeError: BaseCollectiveExecutor::StartAbort DEADLINE_EXCEEDED: "
		"Deadline Exceeded" },
	{ "tf_abort_unavailable",
		"RuntimeError: BaseCollectiveExecutor::StartAbort UNAVAILABLE: x" },
	{ "tf_abort_old",
		"RuntimeError: BaseCollectiveExecutor::StartAbort Unavailable: x" },
	{ "grpc_os_error",
		"tensorflow.python.framework.errors_impl.UnavailableError: OS Error" },
	{ "grpc_recvmsg",
		"RuntimeError: recvmsg:Connection reset by peer" },
	{ "grpc_deadline",
		"tensorflow.python.framework.errors_impl.DeadlineExceededError: Deadline "
		"Exceeded" },
	{ "xla_rendezvous",
		"RuntimeError: Termination timeout for `x` of 40 seconds exceeded. "
		"Exiting to ensure a consistent program state." },
	{ "jax_fatal",
		"RuntimeError: Terminating process because the JAX distributed service "
		"detected fatal errors." },
	{ "jax_shutdown",
		"RuntimeError: INTERNAL: Shutdown barrier has failed." },
	{ "jax_barrier",
		"jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed "
		"out. Barrier_id: PjRT_Client_Connect." },
	{ "jax_registration",
		"RuntimeError: DEADLINE_EXCEEDED: Stopping coordination service as cluster "
		"registration failed." },
	{ "jax_key",
		"RuntimeError: DEADLINE_EXCEEDED: GetKeyValue() timed out with key: a" },
	{ "jax_gloo",
		"ValueError: UNKNOWN: Gloo AllGather failed: "
		"[external/gloo/gloo/transport/tcp/pair.cc:538] Read error "
		"[127.0.0.1]:4809: Connection reset by peer" },
	{ "hccl_notify",
		"RuntimeError: npuSynchronizeUsedDevices:a.ts:525 NPU function "
		"error\nEI0002: The Notify register has not received the Notify record "
		"from remote rank: [24]" },
	{ "hccl_task",
		"RuntimeError: ACL stream synchronize failed.\nEI9999: hccl fftsplus task "
		"timeout occurred during task execution" },
	{ "hccl_link",
		"RuntimeError: EI0006: Getting socket times out. Reason: Remote Rank did "
		"not send the data in time." },
	{ "xgboost_reset",
		"xgboost.core.XGBoostError: [14:03:40] system_error: Connection reset by "
		"peer" },
	{ "lightgbm_socket",
		"lightgbm.basic.LightGBMError: Socket recv error, Connection reset by "
		"peer (code: 104)" },
	{ "lightgbm_recv",
		"RuntimeError: [LightGBM] [Fatal] Socket recv error, Connection reset by peer" },
	{ "lightgbm_send",
		"RuntimeError: [LightGBM] [Fatal] Socket send error, Broken pipe" },
	{ "ray_actor",
		"ray.exceptions.ActorDiedError: The actor died unexpectedly before "
		"finishing this task." },
	{ "ray_actor_old",
		"ray.exceptions.RayActorError: The actor died unexpectedly before "
		"finishing this task." },
	{ "ray_node",
		"ray.exceptions.NodeDiedError: Task failed because the node it was "
		"running on is dead" },
	{ "xgboost_allreduce",
		"xgboost.core.XGBoostError: [14:03:40] utils.h:90: Allreduce failed" },
	{ "sglang_loading",
		"ValueError: TP rank 0 could finish the model loading, but there are other "
		"ranks that didn't finish loading." },
	{ "ompi_disconnected",
		"RuntimeError: An MPI communication peer process has unexpectedly "
		"disconnected.  This" },
	{ "ompi_tcp",
		"RuntimeError: mca_btl_tcp_frag_recv: readv failed: Connection reset by "
		"peer" },
	{ "ompi_ucx",
		"RuntimeError: pml_ucx.c:865  Error: ucx send failed: Request canceled" },
	{ "ucx_reset",
		"RuntimeError: UCX  DIAG  ep 0x7: error 'Connection reset by remote "
		"peer' on rc_mlx5/mlx5_0:1" },
	{ "ucx_retries",
		"RuntimeError: Transport retry count exceeded on mlx5_0:1/RoCE" },
	{ "ucx_recv",
		"RuntimeError: UCX  ERROR recv(fd=24) failed: Connection reset by peer" },
	{ "mpich_socket",
		"mpi4py.MPI.Exception: x: connection failure "
		"(set=0,sock=2,errno=104:Connection reset by peer)" },
	{ "mpich_rank",
		"mpi4py.MPI.Exception: Other MPI error, error "
		"stack:\nMPIDI_CH3_iSendv(34): Communication error with rank 229" },
	{ "ompi_proc_failed",
		"mpi4py.MPI.Exception: MPI_ERR_PROC_FAILED: Process Failure" },
	{ "mpich_proc_failed",
		"mpi4py.MPI.Exception: MPIX_ERR_PROC_X" },
};

/* What else the table has. */
static const struct {
	const char *symbol, *framework, *seen, *source;
} remarks[] = {
#define RI_LOSS(symbol_, kind_, framework_, seen_, words_, also_, source_) \
	{ #symbol_, framework_, seen_, source_ },
#include "words/losses.def"
#undef RI_LOSS
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/* The row that a message fits, one of RI_LOSS_OWN included, is that of its sample. */
static void each_row_has_its_message(void **state)
{
	size_t i = 0;

	(void)state;
	for (const struct ri_loss *row; (row = ri_loss_at(i)) != NULL; i++) {
		const struct ri_loss *found;

		if (i == SAMPLES || strcmp(remarks[i].symbol, samples[i].symbol) != 0)
			fail_msg("no sample here for the row %s of losses.def", remarks[i].symbol);
		found = ri_loss_of_exception(SPAN_OF(samples[i].exception));
		assert_true(remarks[i].framework[0] != '\0' && remarks[i].seen[0] != '\0' &&
			remarks[i].source[0] != '\0' && row->words[0] != '\0');
		if (found != (row->kind == RI_LOSS_OWN ? NULL : row))
			fail_msg("%s: %s", samples[i].symbol,
				found == NULL ? "none" : found->words);
	}
	assert_int_equal(i, SAMPLES);
}

/* Without the row that says so each of them would be a loss. */
static void what_is_no_loss_looks_like_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES && ri_loss_at(i)->kind == RI_LOSS_OWN; i++) {
		const struct ri_loss *row = ri_loss_at(i);
		char text[512];
		char *words;

		snprintf(text, sizeof(text), "%s", samples[i].exception);
		words = strstr(text, row->words);
		assert_non_null(words);
		memset(words, 'x', strlen(row->words));
		if (ri_loss_of_exception(SPAN_OF(text)) == NULL)
			fail_msg("%s: %s", samples[i].symbol, text);
	}
}

static void own_exceptions_may_quote_one(void **state)
{
	static const char *const own[] = {
		"ValueError: \"[gloo/transport/tcp/pair.cc:1] Connection closed by peer\"",
		"my.TrainError: Horovod has been shut down",
		"AssertionError: Watchdog caught collective operation timeout",
		"ConnectionResetError: [Errno 104] Connection reset by peer",
		"RuntimeError: the data service said: Connection reset by peer",
		"RuntimeError: DataLoader worker (pid(s) 12) exited unexpectedly",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, invalid usage",
		"ValueError: TP rank 0 is unknown",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (ri_loss_of_exception(SPAN_OF(own[i])) != NULL)
			fail_msg("%s", own[i]);
}

#define HEAD "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
#define LOST "RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection closed by peer " \
	"[10.0.0.5]:4711\n"
#define HANDLED "\nDuring handling of the above exception, another exception occurred:\n\n"
#define DIRECT "\nThe above exception was the direct cause of the following exception:\n\n"

static const struct ri_loss *of_text(const char *text)
{
	struct ri_words words;

	ri_words_read(SPAN_OF(text), &words);
	assert_true(words.has_traceback);
	return words.loss;
}

static void the_first_of_a_chain_counts(void **state)
{
	(void)state;
	assert_non_null(of_text(HEAD LOST));
	assert_null(of_text(HEAD "ValueError: x\n"));
	/* what a library's log says behind it is no part of it */
	assert_null(of_text(HEAD "RuntimeError: RESOURCE_EXHAUSTED: Out of memory\n"
		"F0820 03:19:04.2  8200 client.h:77] the JAX distributed service detected fatal "
		"errors\n"));
	assert_null(of_text(HEAD "ValueError: x\n" HANDLED HEAD LOST));
	assert_non_null(of_text(HEAD LOST HANDLED HEAD "ValueError: x\n"));
	assert_non_null(of_text(HEAD LOST DIRECT HEAD "my.TrainError: failed\n"));
	/* what ends a loop is no failure */
	assert_non_null(of_text(HEAD "StopIteration\n" HANDLED HEAD LOST));
	assert_non_null(of_text(HEAD "_queue.Empty\n" HANDLED HEAD "queue.Empty\n" HANDLED HEAD
		LOST));
	/* with torch's prefix, and a message of several lines */
	assert_non_null(of_text("[rank0]: Traceback (most recent call last):\n"
		"[rank0]:   File \"a.py\", line 1, in f\n"
		"[rank0]: torch.distributed.DistBackendError: NCCL error in: a.cpp:1, x\n"
		"[rank0]: ncclRemoteError: A call failed\n"
		"[rank0]: Last error:\n"));
}

static void the_last_lines_that_tell_something(void **state)
{
	static char text[65536];

	(void)state;
	assert_null(ri_loss_of_lines(SPAN_OF("")));
	assert_null(ri_loss_of_lines(SPAN_OF("\n\nstep 1\n")));
	assert_non_null(ri_loss_of_lines(SPAN_OF("step 1\n"
		"[rank0]:[E1122 01:02:03.4 ProcessGroupNCCL.cpp:1] [Rank 0] Watchdog caught "
		"collective operation timeout: x\n")));
	/* noise does not hide it, however much of it there is */
	snprintf(text, sizeof(text), "  what():  NCCL error: remote process exited or there was a "
		"network error\n");
	for (int i = 0; i < 100; i++)
		strcat(text, "frame #1: c10d::x() + 0x1 (0x7f in /a.so)\n\n");
	assert_non_null(ri_loss_of_lines(SPAN_OF(text)));
	/* a program that goes on does */
	for (int i = 0; i < 16; i++)
		strcat(text, "step\n");
	assert_null(ri_loss_of_lines(SPAN_OF(text)));
	/* and what is warned of only is none */
	assert_null(ri_loss_of_lines(SPAN_OF("[rank0]:[W1122 01:02:03.4 TCPStore.cpp:125] [c10d] "
		"recvValue failed on SocketImpl(fd=76)\n")));
}

static void the_address_of_the_peer(void **state)
{
	const struct ri_loss *loss = of_text(HEAD LOST);
	struct ri_span peer = { NULL, 0 };

	(void)state;
	assert_true(ri_loss_peer(SPAN_OF(HEAD LOST "step\n"), loss, &peer));
	assert_int_equal(peer.length, 8);
	assert_memory_equal(peer.at, "10.0.0.5", 8);
	assert_true(ri_loss_peer(SPAN_OF("RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection "
		"closed by peer [fd00::5]:1"), loss, &peer));
	assert_memory_equal(peer.at, "fd00::5", 7);
	assert_false(ri_loss_peer(SPAN_OF("[10.0.0.5]:4711"), loss, &peer));
	assert_false(ri_loss_peer(SPAN_OF("[/gloo/transport/tcp/pair.cc:1] Connection closed by "
		"peer [a]:4711 [1.2.3.4] [1.2.3.4]:x [1.2.3.4]:"), loss, &peer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_has_its_message),
		cmocka_unit_test(what_is_no_loss_looks_like_one),
		cmocka_unit_test(own_exceptions_may_quote_one),
		cmocka_unit_test(the_first_of_a_chain_counts),
		cmocka_unit_test(the_last_lines_that_tell_something),
		cmocka_unit_test(the_address_of_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
