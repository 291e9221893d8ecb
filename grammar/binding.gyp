{
  "targets": [
    {
      "target_name": "tree_sitter_xla_binding",
      "dependencies": [
        "<!(node -p \"require('node-addon-api').targets\"):node_addon_api_except",
      ],
      "include_dirs": [
        "xla_dump/src",
      ],
      "sources": [
        "bindings/node/binding.cc",
        "xla_dump/src/parser.c",
        "xla_dump/src/scanner.c",
        "hlo/src/parser.c",
      ],
      "conditions": [
        ["OS!='win'", {
          "cflags_c": [
            "-std=c11",
          ],
        }, { # OS == "win"
          "cflags_c": [
            "/std:c11",
            "/utf-8",
          ],
        }],
      ],
    }
  ]
}
