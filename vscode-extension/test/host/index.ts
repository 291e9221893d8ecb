/** The entry point of the tests in the extension host. */

import "./split.test";
import "./module.test";
import "./single.test";
import "./seed.test";
import "./extension.test";
import "./running.test";
import "./texts.test";
import "./agents.test";

export { runTests as run } from "./suite";
