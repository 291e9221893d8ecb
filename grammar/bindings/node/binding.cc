#include <napi.h>

typedef struct TSLanguage TSLanguage;

extern "C" TSLanguage *tree_sitter_xla_dump();
extern "C" TSLanguage *tree_sitter_hlo();

// "tree-sitter", "language" hashed with BLAKE2
const napi_type_tag LANGUAGE_TYPE_TAG = {
    0x8AF2E5212AD58ABF, 0xD5006CAD83ABBA16
};

static Napi::Object Grammar(Napi::Env env, TSLanguage *pointer) {
    auto grammar = Napi::Object::New(env);
    auto language = Napi::External<TSLanguage>::New(env, pointer);
    language.TypeTag(&LANGUAGE_TYPE_TAG);
    grammar["language"] = language;
    return grammar;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
    exports["xla_dump"] = Grammar(env, tree_sitter_xla_dump());
    exports["hlo"] = Grammar(env, tree_sitter_hlo());
    return exports;
}

NODE_API_MODULE(tree_sitter_xla_binding, Init)
