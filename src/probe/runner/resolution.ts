/**
 * Loaded before anything else in every thread of a run: gives step definitions the Cucumber that runs
 * them and our steps, wherever their bundle lies and whatever packages it brings along.
 *
 * A second copy of Cucumber would register steps where nobody looks for them.
 */
import { registerHooks } from 'node:module'

import { PRODUCT } from '../../std/index.ts'
import { asBuilt } from '../as-built.ts'

const FOLDER = new URL('../../steps/', import.meta.url) // above us: handed to steps, not imported
const STEPS = asBuilt(new URL('index.ts', FOLDER)).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === `${PRODUCT}/steps`) return next(STEPS, context)
    if (specifier === '@cucumber/cucumber')
      return next(specifier, { ...context, parentURL: import.meta.url })
    return next(specifier, context)
  },
})
