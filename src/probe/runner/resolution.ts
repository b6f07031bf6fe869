/**
 * Loaded before anything else in every thread of a run: gives step definitions the Cucumber that runs
 * them and our steps, wherever their bundle lies and whatever packages it brings along.
 *
 * A second copy of Cucumber would register steps where nobody looks for them.
 */
import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

import { PRODUCT } from '../../std/index.ts'
import { asBuilt } from '../as-built.ts'

const SOURCE = new URL('../../', import.meta.url)
const STEPS = asBuilt(new URL('steps/index.ts', SOURCE)).href // above us: handed on, not imported
const CUCUMBER = '@cucumber/cucumber'
const IMPORTED = import.meta.resolve(CUCUMBER)
const REQUIRED = pathToFileURL(createRequire(import.meta.url).resolve(CUCUMBER)).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === `${PRODUCT}/steps`) return { url: STEPS, shortCircuit: true }
    if (specifier !== CUCUMBER) return next(specifier, context)
    return context.conditions.includes('require')
      ? { url: REQUIRED, format: 'commonjs', shortCircuit: true }
      : { url: IMPORTED, format: 'module', shortCircuit: true }
  },
})
