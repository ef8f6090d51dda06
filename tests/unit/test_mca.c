/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "image/image.h"
#include "tree.h"

static struct tree tree;
static struct ri_arena arena;
static struct ri_host host;
static struct ri_env env;
static const struct ri_image image = { .host = &host, .env = &env, .arena = &arena };
static struct ri_mca_value value;

static int make(void **state)
{
	(void)state;
	tree_make(&tree);
	host = (struct ri_host){ .root = tree.fd };
	for (const char *const *folder = (const char *const[]){ "etc", "etc/openmpi", "user",
		     "user/.openmpi", "usr", "usr/local", "usr/local/etc", "opt", "opt/etc",
		     NULL }; *folder != NULL; folder++)
		tree_folder(&tree, *folder);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	tree_remove(&tree);
	return 0;
}

/* The names and values of a text, as "name=value;" each. */
static const char *read_all(const char *source)
{
	static char shown[1024], copy[1024];
	struct ri_mca_text text = { .rest = copy };
	struct ri_mca_value line;
	struct ri_text out;

	ri_text_copy(copy, sizeof(copy), source);
	out = ri_text_of(shown, sizeof(shown));
	while (ri_mca_next(&text, &line))
		ri_text_addf(&out, "%zu:%s=%s;", line.line, line.name, line.value);
	return shown;
}

static void test_lines(void **state)
{
	(void)state;
	assert_string_equal(read_all("pml = ^ucx\nbtl=self,vader\n"),
		"1:pml=^ucx;2:btl=self,vader;");
	assert_string_equal(read_all("# pml = ucx\n\n  mtl\t=  ^ofi \t\nosc =\n"),
		"3:mtl=^ofi;4:osc=;");
	/* the rest of the line is the value */
	assert_string_equal(read_all("a.b-c = x # y"), "1:a.b-c=x # y;");
	assert_string_equal(read_all("// a = b\n/* c = d\n e = f */ g = h\n/* i */ j = k"),
		"3:g=h;4:j=k;");
	assert_string_equal(read_all("/* a */ /* b\nc = d"), "");
	assert_string_equal(read_all("-mca pml ucx\n--mca btl ^openib \n-mca pml\n-mca\n"),
		"1:pml=ucx;2:btl=^openib;");
	assert_string_equal(read_all("-mca pml ob1 --mca\tbtl 'self, tcp' -x A=B\na = b\n"),
		"1:pml=ob1;1:btl=self, tcp;2:a=b;");
	assert_string_equal(read_all("-mca pml \"ucx\"\n-mca pml 'ucx\n-mca a ''"),
		"1:pml=ucx;2:pml='ucx;3:a=;");
	assert_string_equal(read_all("-mca a=b\n-mca=a b\n-mca a \n-mca a b /* c\n*/ d = e"),
		"4:a=b;5:d=e;");
	assert_string_equal(read_all("alone\n= x\n\"a\" = b\n"), "");
	assert_string_equal(read_all(""), "");
}

static void test_takes(void **state)
{
	(void)state;
	assert_true(ri_mca_takes("ucx", "ucx"));
	assert_true(ri_mca_takes("ob1,ucx", "ucx"));
	assert_false(ri_mca_takes("ob1", "ucx"));
	assert_false(ri_mca_takes("^ucx", "ucx"));
	assert_false(ri_mca_takes("^ofi,ucx", "ucx"));
	assert_true(ri_mca_takes("^uct,ucxx", "ucx"));
	assert_true(ri_mca_takes("^", "ucx"));
	assert_true(ri_mca_takes("", "ucx"));
}

/* "value from origin:line", with up to two variables. */
static const char *get(const char *prefix, char *first, char *second)
{
	static char shown[512];
	static char *strings[3];
	struct ri_error err = RI_ERROR_INIT;

	ri_arena_release(&arena);
	strings[0] = first;
	strings[1] = second;
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	if (!ri_mca_get(&image, prefix, "pml", &value))
		return "none";
	snprintf(shown, sizeof(shown), "%s from %s:%zu", value.value, value.origin, value.line);
	return shown;
}

static void test_files(void **state)
{
	char none[] = "A=B", home[] = "HOME=/user", pml[] = "OMPI_MCA_pml=cm";
	char moved[] = "OPAL_PREFIX=/opt";

	(void)state;
	assert_string_equal(get("/usr", none, NULL), "none");
	tree_file(&tree, "etc/openmpi/openmpi-mca-params.conf", "pml = ob1\n\npml = ^ucx\n");
	assert_string_equal(get("/usr", none, NULL),
		"^ucx from /etc/openmpi/openmpi-mca-params.conf:3");
	/* somebody's own build does not read it */
	assert_string_equal(get("/usr/local", none, NULL), "none");
	tree_file(&tree, "usr/local/etc/openmpi-mca-params.conf", "pml=ucx");
	assert_string_equal(get("/usr/local", none, NULL),
		"ucx from /usr/local/etc/openmpi-mca-params.conf:1");
	tree_file(&tree, "opt/etc/openmpi-mca-params.conf", "pml=moved");
	assert_string_equal(get("/usr/local", moved, NULL),
		"moved from /opt/etc/openmpi-mca-params.conf:1");
	tree_file(&tree, "user/.openmpi/mca-params.conf", "btl=self\npml=home\n");
	assert_string_equal(get("/usr/local", none, NULL),
		"ucx from /usr/local/etc/openmpi-mca-params.conf:1");
	assert_string_equal(get("/usr/local", home, NULL),
		"home from /user/.openmpi/mca-params.conf:2");
	assert_string_equal(get("/usr/local", home, pml), "cm from OMPI_MCA_pml:0");
	tree_file(&tree, "usr/local/etc/openmpi-mca-params-override.conf", "pml=must\n");
	assert_string_equal(get("/usr/local", home, pml),
		"must from /usr/local/etc/openmpi-mca-params-override.conf:1");
	assert_int_equal(unlinkat(tree.fd, "usr/local/etc/openmpi-mca-params-override.conf", 0), 0);
}

static void test_stated_files(void **state)
{
	char list[] = "OMPI_MCA_mca_base_param_files="
		"/nowhere,/opt/etc/openmpi-mca-params.conf:/user/.openmpi/mca-params.conf";
	char off[] = "OMPI_MCA_mca_base_param_files=none", home[] = "HOME=/user";

	(void)state;
	assert_string_equal(get("/usr/local", list, home),
		"moved from /opt/etc/openmpi-mca-params.conf:1");
	assert_string_equal(get("/usr/local", off, home), "none");
}

static void test_large(void **state)
{
	static char large[100000];
	char none[] = "A=B";

	(void)state;
	memset(large, '#', sizeof(large));
	tree_bytes(&tree, "usr/local/etc/openmpi-mca-params.conf", large, sizeof(large));
	assert_string_equal(get("/usr/local", none, NULL), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_takes),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_stated_files),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
