/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

#define LIST(...) ((char *const *)(uintptr_t)(const char *const[]){ __VA_ARGS__, NULL })

enum { MAX_WORDS = 64 };

/* A line cut at single blanks; "" between two of them is an empty word. */
static char *const *cut(const char *line)
{
	static char *words[MAX_WORDS + 1];
	static char copy[1024];
	char *rest = copy;
	size_t count = 0;

	assert_true(strlen(line) < sizeof(copy));
	strcpy(copy, line);
	while (rest != NULL && *line != '\0') {
		assert_true(count < MAX_WORDS);
		words[count++] = strsep(&rest, " ");
	}
	words[count] = NULL;
	return words;
}

static const struct {
	const char *line;
	enum ri_mode mode;
	const char *launcher;	/* NULL: none is known */
} lines[] = {
	/* launchers of ranks, by name */
	{ "torchrun train.py", RI_MODE_NODE, "torchrun" },
	{ "/opt/conda/bin/torchrun --nnodes=2 train.py", RI_MODE_NODE, "torchrun" },
	{ "torchrun", RI_MODE_NODE, "torchrun" },
	{ "accelerate launch train.py", RI_MODE_NODE, "accelerate" },
	{ "accelerate-launch train.py", RI_MODE_NODE, "accelerate" },
	{ "composer -n 8 train.py", RI_MODE_NODE, "composer" },
	{ "fabric run train.py", RI_MODE_NODE, "fabric" },
	{ "lightning run model train.py", RI_MODE_NODE, "fabric" },
	{ "deepspeed --no_ssh --node_rank=1 train.py", RI_MODE_NODE, "deepspeed" },
	{ "deepspeed --hostfile h --no-ssh train.py", RI_MODE_NODE, "deepspeed" },
	/* by module, and by the file of a module */
	{ "python -m torch.distributed.run train.py", RI_MODE_NODE, "torchrun" },
	{ "python3 -m torch.distributed.launch train.py", RI_MODE_NODE, "torchrun" },
	{ "/usr/bin/python3.11 -u -m torch.distributed.run t.py", RI_MODE_NODE, "torchrun" },
	{ "python -mtorch.distributed.run train.py", RI_MODE_NODE, "torchrun" },
	{ "python -um torch.distributed.run train.py", RI_MODE_NODE, "torchrun" },
	{ "python -W ignore -X dev -m torch.distributed.run t.py", RI_MODE_NODE, "torchrun" },
	{ "python -Wignore -m torch.distributed.run t.py", RI_MODE_NODE, "torchrun" },
	{ "python -m torch.distributed.run", RI_MODE_NODE, "torchrun" },
	{ "python -m accelerate.commands.launch t.py", RI_MODE_NODE, "accelerate" },
	{ "python -m accelerate.commands.accelerate_cli launch t.py", RI_MODE_NODE, "accelerate" },
	{ "python -m deepspeed.launcher.launch --world_info=x t.py", RI_MODE_NODE, "deepspeed" },
	{ "python -m composer.cli.launcher t.py", RI_MODE_NODE, "composer" },
	{ "python /lib/torch/distributed/run.py t.py", RI_MODE_NODE, "torchrun" },
	{ "python torch/distributed/launch.py t.py", RI_MODE_NODE, "torchrun" },
	{ "python /x/deepspeed/launcher/launch.py t.py", RI_MODE_NODE, "deepspeed" },
	{ "python /opt/conda/bin/torchrun t.py", RI_MODE_NODE, "torchrun" },
	{ "python3 -u /opt/conda/bin/accelerate launch t.py", RI_MODE_NODE, "accelerate" },
	/* launchers of whole jobs */
	{ "mpirun -np 8 python train.py", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "/usr/lib64/openmpi/bin/mpirun -n 8 torchrun", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "mpiexec -n 2 x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "mpiexec.hydra -n 2 x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "mpirun.openmpi x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "mpiexec.openmpi x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "mpirun.mpich x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "mpiexec.mpich x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "prterun x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "srun torchrun t.py", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "horovodrun -np 4 python t.py", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "flux run -n4 x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "jsrun -n4 x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "python -m horovod.runner.launch x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "deepspeed train.py", RI_MODE_NONE, "deepspeed" },
	{ "deepspeed --num_gpus 8 train.py --no_ssh", RI_MODE_NONE, "deepspeed" },
	{ "deepspeed --launcher --no_ssh train.py", RI_MODE_NONE, "deepspeed" },
	{ "ray start --head --block", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "ray symmetric-run --address a:1 -- python3 t.py", RI_MODE_NONE,
		"a launcher of whole jobs" },
	{ "ray job submit -- python3 t.py", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "ray status", RI_MODE_PROCESS, NULL },
	/* behind wrappers */
	{ "env torchrun t.py", RI_MODE_NODE, "torchrun" },
	{ "/usr/bin/env A=1 B= -- torchrun t.py", RI_MODE_PROCESS, NULL },
	{ "env A=1 B=x=y torchrun t.py", RI_MODE_NODE, "torchrun" },
	{ "env -i PATH=/bin mpirun x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "env - A=1 torchrun", RI_MODE_NODE, "torchrun" },
	{ "env -u LOCAL_RANK --unset RANK torchrun", RI_MODE_NODE, "torchrun" },
	{ "env -uLOCAL_RANK --unset=RANK -C /w -- A=1 torchrun", RI_MODE_NODE, "torchrun" },
	{ "nice torchrun", RI_MODE_NODE, "torchrun" },
	{ "nice -n 5 torchrun", RI_MODE_NODE, "torchrun" },
	{ "nice -n5 torchrun", RI_MODE_NODE, "torchrun" },
	{ "nice -10 torchrun", RI_MODE_NODE, "torchrun" },
	{ "nice --adjustment 5 torchrun", RI_MODE_NODE, "torchrun" },
	{ "nice --adjustment=5 torchrun", RI_MODE_NODE, "torchrun" },
	{ "numactl --cpunodebind=0 --membind 0 torchrun", RI_MODE_NODE, "torchrun" },
	{ "numactl -N 0 -m0 -l python -m torch.distributed.run t", RI_MODE_NODE, "torchrun" },
	{ "taskset -c 0-7 torchrun", RI_MODE_NODE, "torchrun" },
	{ "taskset 0xff mpirun x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "timeout -k 5 60 torchrun", RI_MODE_NODE, "torchrun" },
	{ "timeout --signal=INT 60 torchrun", RI_MODE_NODE, "torchrun" },
	{ "stdbuf -oL -e 0 torchrun", RI_MODE_NODE, "torchrun" },
	{ "nohup setsid -w ionice -c 2 -n 0 torchrun", RI_MODE_NODE, "torchrun" },
	{ "time -f %e torchrun", RI_MODE_NODE, "torchrun" },
	{ "tini -g -p SIGTERM -- torchrun", RI_MODE_NODE, "torchrun" },
	{ "dumb-init -r 15:2 torchrun", RI_MODE_NODE, "torchrun" },
	{ "nsys profile -o out -t cuda,nvtx --stats true torchrun t", RI_MODE_NODE, "torchrun" },
	{ "nsys profile --trace=cuda -- torchrun t", RI_MODE_NODE, "torchrun" },
	{ "nsys launch torchrun t", RI_MODE_NODE, "torchrun" },
	{ "nsys profile mpirun x", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "conda run -n env torchrun t", RI_MODE_NODE, "torchrun" },
	{ "conda run --no-capture-output --name env torchrun t", RI_MODE_NODE, "torchrun" },
	{ "micromamba run -p /env -- torchrun t", RI_MODE_NODE, "torchrun" },
	{ "uv run torchrun t", RI_MODE_NODE, "torchrun" },
	{ "uv --directory /w run --with torch -p 3.11 --no-sync torchrun t", RI_MODE_NODE,
	  "torchrun" },
	{ "uv run -m torch.distributed.run t", RI_MODE_NODE, "torchrun" },
	{ "uv run --module torch.distributed.run t", RI_MODE_NODE, "torchrun" },
	{ "uv run python -m torch.distributed.run t", RI_MODE_NODE, "torchrun" },
	{ "/opt/nvidia/nvidia_entrypoint.sh torchrun t", RI_MODE_NODE, "torchrun" },
	{ "/opt/nvidia/nvidia_entrypoint.sh env A=1 nice numactl -l uv run python3 -m "
	  "torch.distributed.run t", RI_MODE_NODE, "torchrun" },
	/* those that came later */
	{ "ft_launcher --ft-cfg-path f.yaml --nproc-per-node=8 t.py", RI_MODE_NODE, "ft_launcher" },
	{ "python -m nvidia_resiliency_ext.fault_tolerance.launcher t.py", RI_MODE_NODE,
	  "ft_launcher" },
	{ "dlrover-run --network-check --nnodes=2 t.py", RI_MODE_NODE, "dlrover-run" },
	{ "python3 -m dlrover.trainer.torch.main t.py", RI_MODE_NODE, "dlrover-run" },
	{ "hyperpodrun --nproc-per-node=8 t.py", RI_MODE_NODE, "hyperpodrun" },
	{ "tune run --nproc_per_node 4 lora_finetune_distributed", RI_MODE_NODE, "tune run" },
	{ "python -m torchtune._cli.tune run full_finetune_distributed", RI_MODE_NODE, "tune run" },
	{ "vllm serve m --nnodes 2 --node-rank 1", RI_MODE_NODE, "vllm" },
	{ "python3 -m vllm.entrypoints.openai.api_server --model m", RI_MODE_NODE, "vllm" },
	{ "uv run vllm serve m", RI_MODE_NODE, "vllm" },
	{ "sglang serve --model-path m", RI_MODE_NODE, "sglang" },
	{ "python -m sglang.launch_server --nnodes 2", RI_MODE_NODE, "sglang" },
	{ "llamafactory-cli train c.yaml", RI_MODE_NODE, "llamafactory-cli" },
	{ "axolotl train c.yaml", RI_MODE_NODE, "axolotl" },
	{ "trl sft --model_name_or_path m --num_processes 2", RI_MODE_NODE, "trl" },
	{ "uv run trl grpo --config c.yaml", RI_MODE_NODE, "trl" },
	{ "swift sft --model m", RI_MODE_NODE, "swift" },
	{ "env NPROC_PER_NODE=8 megatron sft --load m", RI_MODE_NODE, "swift" },
	{ "accelerate launch pretrain_gpt.py --tensor-model-parallel-size 2", RI_MODE_NODE,
	  "accelerate" },
	{ "torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2",
	  RI_MODE_NODE, "torchrun" },
	{ "trl env", RI_MODE_PROCESS, NULL },
	{ "trl vllm-serve --model m", RI_MODE_PROCESS, NULL },
	{ "swift export --model m", RI_MODE_PROCESS, NULL },
	{ "swift upload container file", RI_MODE_PROCESS, NULL },
	{ "python pretrain_gpt.py", RI_MODE_PROCESS, NULL },
	{ "python -m bagua.distributed.launch --nproc_per_node=8 t.py", RI_MODE_NODE, "bagua" },
	{ "python -m bagua.distributed.run t.py", RI_MODE_NODE, "bagua" },
	{ "python -m lightning.fabric.cli run t.py", RI_MODE_NODE, "fabric" },
	{ "colossalai run --host a,b --nproc_per_node 4 t.py", RI_MODE_NONE,
	  "a launcher of whole jobs" },
	{ "baguarun --host_list=a,b t.py", RI_MODE_NONE, "a launcher of whole jobs" },
	{ "tune download m", RI_MODE_PROCESS, NULL },
	{ "vllm bench serve", RI_MODE_PROCESS, NULL },
	{ "llamafactory-cli chat c.yaml", RI_MODE_PROCESS, NULL },
	{ "axolotl preprocess c.yaml", RI_MODE_PROCESS, NULL },
	{ "python -m axolotl.cli.train c.yaml", RI_MODE_PROCESS, NULL },
	{ "colossalai check -i", RI_MODE_PROCESS, NULL },
	/* training processes */
	{ "python train.py", RI_MODE_PROCESS, NULL },
	{ "python -m train", RI_MODE_PROCESS, NULL },
	{ "python", RI_MODE_PROCESS, NULL },
	{ "./train", RI_MODE_PROCESS, NULL },
	{ "accelerate config", RI_MODE_PROCESS, NULL },
	{ "accelerate", RI_MODE_PROCESS, NULL },
	{ "fabric consolidate x", RI_MODE_PROCESS, NULL },
	{ "ray status", RI_MODE_PROCESS, NULL },
	{ "conda install torchrun", RI_MODE_PROCESS, NULL },
	{ "uv pip torchrun", RI_MODE_PROCESS, NULL },
	{ "nsys stats torchrun", RI_MODE_PROCESS, NULL },
	/* not looked into */
	{ "sh -c torchrun", RI_MODE_PROCESS, NULL },
	{ "bash train.sh torchrun", RI_MODE_PROCESS, NULL },
	{ "bash torchrun", RI_MODE_PROCESS, NULL },
	{ "python train.py torchrun", RI_MODE_PROCESS, NULL },
	{ "python -c import torchrun", RI_MODE_PROCESS, NULL },
	{ "python -c pass -m torch.distributed.run", RI_MODE_PROCESS, NULL },
	{ "python -Ecpass torchrun", RI_MODE_PROCESS, NULL },
	{ "python train.py -m torch.distributed.run", RI_MODE_PROCESS, NULL },
	{ "python -m pdb torchrun", RI_MODE_PROCESS, NULL },
	/* names that are only like it */
	{ "torchrun.sh", RI_MODE_PROCESS, NULL },
	{ "mytorchrun", RI_MODE_PROCESS, NULL },
	{ "torchrun/train", RI_MODE_PROCESS, NULL },
	{ "Torchrun", RI_MODE_PROCESS, NULL },
	{ "pythonw -m torch.distributed.run", RI_MODE_PROCESS, NULL },
	{ "python -m torch.distributed.runner", RI_MODE_PROCESS, NULL },
	{ "python mytorch/distributed/run.py", RI_MODE_PROCESS, NULL },
	{ "python run.py", RI_MODE_PROCESS, NULL },
	{ "torch.distributed.run", RI_MODE_PROCESS, NULL },
	{ "python torch.distributed.run", RI_MODE_PROCESS, NULL },
	{ "python -m torchrun", RI_MODE_PROCESS, NULL },
	/* words that end too early, and hostile ones */
	{ "", RI_MODE_PROCESS, NULL },
	{ "env", RI_MODE_PROCESS, NULL },
	{ "env -u", RI_MODE_PROCESS, NULL },
	{ "env A=1", RI_MODE_PROCESS, NULL },
	{ "env =x torchrun", RI_MODE_PROCESS, NULL },
	{ "nice -n", RI_MODE_PROCESS, NULL },
	{ "taskset", RI_MODE_PROCESS, NULL },
	{ "timeout 5", RI_MODE_PROCESS, NULL },
	{ "python -m", RI_MODE_PROCESS, NULL },
	{ "python -W", RI_MODE_PROCESS, NULL },
	{ "conda", RI_MODE_PROCESS, NULL },
	{ "conda run", RI_MODE_PROCESS, NULL },
	{ "uv run --module", RI_MODE_PROCESS, NULL },
	{ "env -- -- torchrun", RI_MODE_PROCESS, NULL },
	{ " torchrun", RI_MODE_PROCESS, NULL },
	{ "/ torchrun", RI_MODE_PROCESS, NULL },
	{ "torchrun/", RI_MODE_PROCESS, NULL },
	{ "- torchrun", RI_MODE_PROCESS, NULL },
	{ "--", RI_MODE_PROCESS, NULL },
	{ ".py", RI_MODE_PROCESS, NULL },
};

static void test_modes(void **state)
{
	struct ri_command command;
	unsigned faults = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *found;

		ri_command_read(&command, cut(lines[i].line), RI_MODE_AUTO);
		found = command.launcher == NULL ? "nothing" : command.launcher->name;
		if (command.mode == lines[i].mode &&
			strcmp(found, lines[i].launcher == NULL ? "nothing"
							       : lines[i].launcher) == 0)
			continue;
		print_error("%s: %s, %s\n", lines[i].line, ri_mode_name(command.mode), found);
		faults++;
	}
	assert_int_equal(faults, 0);
}

static void test_what_is_asked_for_wins(void **state)
{
	struct ri_command command;

	(void)state;
	ri_command_read(&command, LIST("torchrun", "t.py"), RI_MODE_PROCESS);
	assert_int_equal(command.mode, RI_MODE_PROCESS);
	assert_string_equal(command.launcher->name, "torchrun");
	ri_command_read(&command, LIST("python", "t.py"), RI_MODE_NODE);
	assert_int_equal(command.mode, RI_MODE_NODE);
	assert_null(command.launcher);
	ri_command_read(&command, LIST("python", "t.py"), RI_MODE_NONE);
	assert_int_equal(command.mode, RI_MODE_NONE);
	ri_command_read(&command, NULL, RI_MODE_AUTO);
	assert_int_equal(command.mode, RI_MODE_PROCESS);
}

static bool is_python(const char *line)
{
	struct ri_command command;

	ri_command_read(&command, cut(line), RI_MODE_AUTO);
	return command.is_python;
}

static void test_a_program_of_python(void **state)
{
	static const char *const yes[] = {
		"python train.py", "/usr/bin/python3.11 -u train.py", "nice -n 5 python3 -m train",
		"python -c pass", "./train.py", "uv run train.py",
	};
	static const char *const no[] = {
		"", "sh train.sh", "bash -c python", "pythonw train.py", "python3-config", ".py",
		"torchrun train.py", "python -m torch.distributed.run train.py", "cat train.pyc",
		"echo python",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!is_python(yes[i]))
			fail_msg("%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (is_python(no[i]))
			fail_msg("%s", no[i]);
}

static bool has(const char *line, const char *option, const char **value)
{
	struct ri_command command;

	ri_command_read(&command, cut(line), RI_MODE_AUTO);
	return ri_command_has(&command, option, value);
}

static void test_options_of_the_launcher(void **state)
{
	const char *value = "untouched";

	(void)state;
	assert_true(has("torchrun --standalone t.py", "--standalone", NULL));
	assert_true(has("torchrun --nnodes 2 --standalone t.py", "--standalone", NULL));
	assert_true(has("torchrun -t 3 --standalone t.py", "--standalone", NULL));
	assert_true(has("torchrun --no_python --standalone t.py", "--standalone", NULL));
	assert_true(has("env A=1 python -m torch.distributed.run --standalone t.py",
		"--standalone", NULL));
	assert_true(has("torchrun --master_addr=a t.py", "--master-addr", &value));
	assert_string_equal(value, "a");
	assert_true(has("torchrun --master-addr b t.py", "--master-addr", &value));
	assert_string_equal(value, "b");
	assert_true(has("torchrun --master_addr", "--master-addr", &value));
	assert_null(value);
	assert_true(has("torchrun --standalone t.py", "--standalone", &value));
	assert_null(value);
}

/* As argparse allows, where the launcher lets it. */
static void test_options_that_are_cut_short(void **state)
{
	const char *value = NULL;

	(void)state;
	assert_true(has("torchrun --stand t.py", "--standalone", NULL));
	assert_true(has("torchrun --nn 1:4 t.py", "--nnodes", &value));
	assert_string_equal(value, "1:4");
	assert_true(has("torchrun --max_restart=3 t.py", "--max-restarts", &value));
	assert_string_equal(value, "3");
	/* a flag that is cut short takes no word either */
	assert_true(has("torchrun --stand --nn=1:4 t.py", "--nnodes", &value));
	assert_string_equal(value, "1:4");
	assert_true(has("deepspeed --no_ssh --master_a a t.py", "--master-addr", &value));
	assert_string_equal(value, "a");
	assert_false(has("accelerate launch --main_process_i a t.py", "--main-process-ip", NULL));
	assert_false(has("torchrun --nnodesx 2 t.py", "--nnodes", NULL));
	assert_false(has("torchrun -nn 1:4 t.py", "--nnodes", NULL));
	assert_false(has("torchrun t.py --nn 1:4", "--nnodes", NULL));
	assert_false(has("torchrun -- --nn 1:4", "--nnodes", NULL));
}

static void test_options_of_the_script_are_not_the_launchers(void **state)
{
	const char *value = "untouched";

	(void)state;
	assert_false(has("torchrun t.py --standalone", "--standalone", &value));
	assert_false(has("torchrun --nproc_per_node 2 t.py --standalone", "--standalone", NULL));
	assert_false(has("torchrun -- --standalone", "--standalone", NULL));
	assert_false(has("torchrun --rdzv_id --standalone t.py", "--standalone", NULL));
	assert_false(has("torchrun --standalonex t.py", "--standalone", NULL));
	assert_false(has("torchrun", "--standalone", NULL));
	assert_false(has("python --standalone", "--standalone", NULL));
	assert_false(has("env --standalone torchrun", "--standalone", NULL));
	assert_string_equal(value, "untouched");
}

static const struct {
	const char *line;
	uint64_t nodes;
	uint64_t ranks;	/* 0: it does not say */
} counts[] = {
	{ "torchrun --nproc-per-node=8 t.py", 0, 8 },
	{ "torchrun --nnodes 2 --nproc_per_node 8 t.py", 2, 8 },
	{ "python -u -m torch.distributed.run --nproc-per-node 4 t.py", 0, 4 },
	{ "python -m torch.distributed.launch --use_env --nproc_per_node=4 t.py", 0, 4 },
	{ "accelerate launch --num_processes 8 t.py", 0, 8 },
	{ "accelerate launch --multi_gpu --mixed_precision bf16 --num-processes=8 t.py", 1, 8 },
	{ "accelerate launch --num_processes 16 t.py", 2, 8 },
	{ "accelerate launch --num_processes 16 --num_machines 4 t.py", 2, 4 },
	{ "accelerate launch -t 3 -q --num_processes 2 -m t", 0, 2 },
	{ "composer -n 8 t.py", 0, 8 },
	{ "composer -n8 t.py", 0, 8 },
	{ "composer -vn 8 t.py", 0, 8 },
	{ "composer --world_size 16 --nproc 8 t.py", 2, 8 },
	{ "deepspeed --no_ssh --num_gpus 8 t.py", 0, 8 },
	{ "deepspeed -H hosts --num_gpus=8 t.py", 0, 8 },
	{ "deepspeed --num_accelerators=4 t.py", 0, 4 },
	{ "fabric run --accelerator cuda --devices 8 t.py", 0, 8 },
	{ "ft_launcher --ignore-missing-fault-tol-cfg --nproc-per-node 8 t.py", 0, 8 },
	{ "tune run --nproc_per_node 4 r", 0, 4 },
	{ "python -m bagua.distributed.launch --nproc_per_node=8 t.py", 0, 8 },
	{ "python -m bagua.distributed.run --bagua-net_switch_on --nproc_per_node 8 t.py", 0, 8 },
	{ "dlrover-run --precheck 1 --auto_tunning --nproc_per_node 8 t.py", 0, 8 },
	/* the last one counts */
	{ "torchrun --nproc-per-node=2 --nproc_per_node 8 t.py", 0, 8 },
	{ "torchrun --nproc-per-node=8 --nproc-per-node=gpu t.py", 0, 0 },
	{ "composer -n 2 --nproc=8 t.py", 0, 8 },
	{ "composer -n=8 t.py", 0, 8 },
	/* no plain number of ranks */
	{ "torchrun t.py", 0, 0 },
	{ "torchrun --nproc-per-node gpu t.py", 0, 0 },
	{ "torchrun --nproc-per-node=auto t.py", 0, 0 },
	{ "torchrun --nproc-per-node=$N t.py", 0, 0 },
	{ "torchrun --nproc-per-node=0 t.py", 0, 0 },
	{ "torchrun --nproc-per-node=513 t.py", 0, 0 },
	{ "torchrun --nproc-per-node= t.py", 0, 0 },
	{ "torchrun --nproc-per-node", 0, 0 },
	{ "accelerate launch --num_processes 2 t.py", 4, 0 },
	{ "composer -n", 0, 0 },
	{ "deepspeed --num_gpus -1 t.py", 0, 0 },
	{ "fabric run --devices 0,1 t.py", 0, 0 },
	{ "fabric run --devices=auto t.py", 0, 0 },
	/* of somebody else */
	{ "torchrun t.py --nproc-per-node=8", 0, 0 },
	{ "torchrun --rdzv_id --nproc-per-node=8 t.py", 0, 0 },
	{ "accelerate launch t.py --num_processes 8", 0, 0 },
	{ "composer -v t.py -n 8", 0, 0 },
	{ "torchrun --num_gpus=8 t.py", 0, 0 },
	{ "mpirun -np 8 t", 0, 0 },
	{ "python t.py --nproc-per-node=8", 0, 0 },
};

static void test_ranks_that_its_words_ask_for(void **state)
{
	struct ri_command command;
	unsigned faults = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t ranks = 0;

		ri_command_read(&command, cut(counts[i].line), RI_MODE_AUTO);
		if (ri_command_ranks(&command, counts[i].nodes, &ranks) ==
				(counts[i].ranks > 0) && ranks == counts[i].ranks)
			continue;
		print_error("%s: %d\n", counts[i].line, (int)ranks);
		faults++;
	}
	assert_int_equal(faults, 0);
}

/* Each: what Python runs; with "-m " a module, "" for none that is known. */
static const struct {
	const char *line, *runs;
} run_by_python[] = {
	{ "python driver.py --x 1", "driver.py" },
	{ "env A=1 python3.11 -u job/driver", "job/driver" },
	{ "./driver.py", "./driver.py" },
	{ "uv run python driver.py", "driver.py" },
	{ "python -m pkg.train x", "-m pkg.train" },
	{ "python -c pass", "" },
	{ "torchrun train.py", "" },
	{ "python -m torch.distributed.run train.py", "" },
	{ "sh run.sh", "" },
};

static void test_what_python_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(run_by_python) / sizeof(run_by_python[0]); i++) {
		struct ri_command command;
		char runs[64] = "";

		ri_command_read(&command, cut(run_by_python[i].line), RI_MODE_AUTO);
		if (command.module != NULL)
			snprintf(runs, sizeof(runs), "-m %s", command.module);
		else if (command.script != NULL)
			snprintf(runs, sizeof(runs), "%s", command.script);
		assert_string_equal(runs, run_by_python[i].runs);
	}
}

static void test_names_of_modes(void **state)
{
	(void)state;
	assert_string_equal(ri_mode_name(RI_MODE_AUTO), "auto");
	assert_string_equal(ri_mode_name(RI_MODE_PROCESS), "process");
	assert_string_equal(ri_mode_name(RI_MODE_NODE), "node");
	assert_string_equal(ri_mode_name(RI_MODE_NONE), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_what_is_asked_for_wins),
		cmocka_unit_test(test_a_program_of_python),
		cmocka_unit_test(test_options_of_the_launcher),
		cmocka_unit_test(test_options_that_are_cut_short),
		cmocka_unit_test(test_options_of_the_script_are_not_the_launchers),
		cmocka_unit_test(test_ranks_that_its_words_ask_for),
		cmocka_unit_test(test_what_python_runs),
		cmocka_unit_test(test_names_of_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
