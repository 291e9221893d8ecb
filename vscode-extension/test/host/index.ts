/** All tests that run inside the extension host: what VS Code loads and runs. */

import "./split.test";
import "./module.test";
import "./single.test";
import "./seed.test";
import "./extension.test";

export { runTests as run } from "./suite";
