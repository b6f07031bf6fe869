import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { codeOf, folderOf, importsOf, isTest, sourceTree } from './source.ts'

describe('code', () => {
  test('is what remains without comments and strings, every offset kept', () => {
    for (const [text, code] of [
      [`a // b 'c'\nd`, `a         \nd`],
      [`a /* b\n'c */ d`, `a     \n      d`],
      [`a('b // c') // d`, `a('      ')     `],
      [`'it\\'s' + "x'y"`, `'     ' + "   "`],
      ['`a ${b + `c ${d}` + {e: 1}.e} f` + g', '`  ${b + `  ${d}` + {e: 1}.e}  ` + g'],
      [`/a'[/'"]b/g.test(c) / d / e`, `/         g.test(c) / d / e`],
      [`return /'/`, `return / /`],
      [`(a) / b / c`, `(a) / b / c`],
      [`f<T>() / 2 // '`, `f<T>() / 2     `],
      [`x => /'/.test(x)`, `x => / /.test(x)`],
    ] as const)
      assert.equal(codeOf(text), code)
  })

  test('has the length of its text in every file of ours', () => {
    for (const { path, text } of sourceTree()) assert.equal(codeOf(text).length, text.length, path)
  })
})

describe('imports', () => {
  test('are found in every form, and only outside strings and comments', () => {
    const text = `
      import a, { b } from '../std/index.ts'
      import type { C } from "./c.ts"
      import {
        type D,
      } from './d.ts'
      import './e.ts'
      export { f } from './f.ts'
      export type { G } from './g.ts'
      const h = await import('./h.ts')
      const i = new URL('./i.js', import.meta.url)
      import j from 'node:fs'
      // import k from './k.ts'
      const l = "import m from './m.ts'"
      export const from = 'n'
      const o = new URL('./o.ts', base)
      const p = new URL('..', import.meta.url)
    `
    assert.deepEqual(
      importsOf({ path: 'src/x/y.ts', text })
        .map(({ specifier, target, typeOnly }) => [specifier, target, typeOnly] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
      [
        ['..', 'src', false],
        ['../std/index.ts', 'src/std/index.ts', false],
        ['./c.ts', 'src/x/c.ts', true],
        ['./d.ts', 'src/x/d.ts', false],
        ['./e.ts', 'src/x/e.ts', false],
        ['./f.ts', 'src/x/f.ts', false],
        ['./g.ts', 'src/x/g.ts', true],
        ['./h.ts', 'src/x/h.ts', false],
        ['./i.js', 'src/x/i.ts', false],
        ['node:fs', undefined, false],
      ],
    )
  })
})

describe('paths', () => {
  test('tell the folder and whether it is a test', () => {
    assert.equal(folderOf('src/kernel/internal/cell.ts'), 'kernel')
    assert.equal(folderOf('tools/tidy.ts'), undefined)
    assert.equal(isTest('src/std/heap.test.ts'), true)
    assert.equal(isTest('test/sim/world.ts'), true)
    assert.equal(isTest('src/std/heap.ts'), false)
  })
})
