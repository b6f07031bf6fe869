/**
 * Bugs: our own model turned out wrong.
 *
 * An `AssertionFailure` is never an answer to somebody's input and nobody recovers from it. What a
 * caller may do wrong is a fault, what the world may do wrong is an accident (`fault.ts`).
 */
import { inspect } from 'node:util'

export class AssertionFailure extends Error {
  override readonly name: string = 'AssertionFailure'
}

/** Goes on only while `condition` holds; `message` states what was believed. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message)
}

/** Ends an exhaustive `switch`: compiles only when every case is covered, throws if one came anyway. */
export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable: ${inspect(value, { depth: 1 })}`)
}
