fn main() {
    let mut c_config = cc::Build::new();
    // Both grammars have the same copies of tree-sitter's headers.
    c_config.std("c11").include("xla_dump/src");

    #[cfg(target_env = "msvc")]
    c_config.flag("-utf-8");

    if std::env::var("TARGET").unwrap() == "wasm32-unknown-unknown" {
        let variable = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| panic!("the crate tree-sitter-language sets no {name}"))
        };
        c_config.include(variable("DEP_TREE_SITTER_LANGUAGE_WASM_HEADERS"));
        let folder = std::path::PathBuf::from(variable("DEP_TREE_SITTER_LANGUAGE_WASM_SRC"));
        c_config.files(["stdio.c", "stdlib.c", "string.c"].map(|name| folder.join(name)));
    }

    for path in ["xla_dump/src/parser.c", "xla_dump/src/scanner.c", "hlo/src/parser.c"] {
        c_config.file(path);
        println!("cargo:rerun-if-changed={path}");
    }
    c_config.compile("tree-sitter-xla");
}
