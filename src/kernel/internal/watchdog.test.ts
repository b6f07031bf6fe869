import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CallSiteObject } from 'node:util'

import { createSteppedSystem, createSystem } from '../system.ts'
import { whereabouts } from './watchdog.ts'

const KERNEL = 'file:///app/kernel/'

function frame(functionName: string, scriptName: string): CallSiteObject {
  return { functionName, scriptName, scriptId: '1', lineNumber: 7, columnNumber: 3 }
}

/** The watchdog can be asked by way of one symbol while it is there. */
function watchdogs(): number {
  return Object.getOwnPropertySymbols(globalThis).filter(
    (symbol) => symbol.description?.includes('watchdog') === true,
  ).length
}

describe('the watchdog', () => {
  test('is one for all systems, and goes with the last', async () => {
    const [first, second] = [createSystem({ watchdog: true }), createSystem({ watchdog: true })]
    assert.equal(watchdogs(), 1)

    await first.stop()
    assert.equal(watchdogs(), 1)

    await second.stop()
    assert.equal(watchdogs(), 0)
  })

  test('is there again for a system that comes later', async () => {
    await createSystem({ watchdog: true }).stop()
    const later = createSystem({ watchdog: true })

    assert.equal(watchdogs(), 1)
    await later.stop()
    assert.equal(watchdogs(), 0)
  })

  test('is started neither unasked nor by a stepped system', async () => {
    const systems = [createSystem(), createSteppedSystem({ watchdog: true })]

    assert.equal(watchdogs(), 0)
    await systems[0]!.stop()
  })
})

describe('where a turn is', () => {
  test('is the innermost frame outside of Node and the kernel', () => {
    const frames = [
      frame('test', 'node:internal/fs'),
      frame('', ''),
      frame('tell', `${KERNEL}internal/actor.ts`),
      frame('inner', 'file:///app/shop.ts'),
      frame('outer', 'file:///app/shop.ts'),
    ]

    assert.equal(whereabouts(frames, KERNEL), 'inner (file:///app/shop.ts:7:3)')
  })

  test('is the innermost frame of a program that is bundled with the kernel', () => {
    const frames = [frame('', `${KERNEL}bundle.js`), frame('drain', `${KERNEL}bundle.js`)]

    assert.equal(whereabouts(frames, KERNEL), `<anonymous> (${KERNEL}bundle.js:7:3)`)
  })

  test('is unknown where only Node has frames', () => {
    assert.equal(whereabouts([frame('listOnTimeout', 'node:internal/timers')], KERNEL), 'unknown')
  })
})
