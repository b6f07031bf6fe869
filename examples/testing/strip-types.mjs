/** A transform for jest that erases types and nothing else, so that lines and columns stay. */
import { stripTypeScriptTypes } from 'node:module'

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
}
