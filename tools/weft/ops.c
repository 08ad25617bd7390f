/* weft ops: the table of operators. */
#include <argp.h>
#include <regex.h>
#include <stdio.h>

#include "weft.h"

typedef struct options {
  regex_t filter;
  const char *filter_text; /* NULL: every operator */
  bool json;
} options;

static const struct argp_option option_table[] = {{"filter", 'f', "RE", 0, "only operators whose schema matches RE", 0},
                                                  {"json", 'j', NULL, 0, "print a JSON array of schemas", 0},
                                                  {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case 'f':
      if (regcomp(&o->filter, arg, REG_EXTENDED | REG_NOSUB))
        argp_failure(state, EXIT_MISUSE, 0, "'%s' is no regular expression", arg);
      o->filter_text = arg;
      return 0;
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "takes no arguments"); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

int command_ops(int argc, char **argv) {
  static const struct argp argp = {
      option_table, parse, NULL, "List the operators with their schemas.\vExample:\n  weft ops --filter conv",
      NULL,         NULL,  NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {0};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  const char *schema;
  int printed = 0;
  for (int i = 0; (schema = wf_op_schema(i)); i++) {
    if (o.filter_text && regexec(&o.filter, schema, 0, NULL, 0)) continue;
    if (o.json) printf("%s\n  \"%s\"", printed ? "," : "[", schema);
    else puts(schema);
    printed++;
  }
  if (o.json) puts(printed ? "\n]" : "[]");
  return printed ? EXIT_FINE : misuse("ops", "no operator's schema matches '%s'", o.filter_text);
}
