/**
 * How a built-in step is defined: without a limit of time of Cucumber's, since those that wait have a
 * bound of their own, and with `undefined` for whatever its pattern leaves out.
 */
import { defineStep, type World } from '@cucumber/cucumber'

export function step(
  pattern: string | RegExp,
  code: (this: World, ...args: never[]) => unknown,
): void {
  const run = function (this: World, ...args: readonly unknown[]): unknown {
    return Reflect.apply(
      code,
      this,
      args.map((arg) => arg ?? undefined),
    )
  }
  Object.defineProperty(run, 'length', { value: code.length }) // Cucumber counts them
  defineStep(pattern, { timeout: -1 }, run)
}
