import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { directory } from '../../../test/probe/bundles.ts'
import { loadError } from './load-error.ts'

const CASES: readonly Readonly<{ name: string; file: string; text: string; says: RegExp }>[] = [
  {
    name: 'what cannot be taken away of TypeScript',
    file: 'steps/a.ts',
    text: 'const a = 1\nenum Colour { red }\nexport { a, Colour }\n',
    says: /^steps\/a\.ts:2: SyntaxError \[.*\]: TypeScript enum is not supported/,
  },
  {
    name: 'a syntax error',
    file: 'steps/b.ts',
    text: '\n\nconst b = ( => 1)\n',
    says: /^steps\/b\.ts:3: SyntaxError .*: Expression expected/,
  },
  {
    name: 'a syntax error of JavaScript',
    file: 'steps/c.mjs',
    text: '\nconst c = ( => 1)\n',
    says: /^steps\/c\.mjs:2: SyntaxError: /,
  },
  {
    name: 'a package that is not there',
    file: 'steps/d.ts',
    text: "import 'node:path'\nimport 'no-such-package'\n",
    says: /^steps\/d\.ts:2: Error \[ERR_MODULE_NOT_FOUND\]: Cannot find package 'no-such-package'/,
  },
  {
    name: 'an export that is not there',
    file: 'steps/e.ts',
    text: "import { nothing } from 'node:path'\nnothing()\n",
    says: /^steps\/e\.ts:1: SyntaxError: .*nothing/,
  },
  {
    name: 'what a file throws',
    file: 'steps/f.ts',
    text: "\nthrow new Error('at load')\n",
    says: /^steps\/f\.ts:2: Error: at load/,
  },
  {
    name: 'what is no error at all',
    file: 'steps/g.ts',
    text: "throw 'a text'\n",
    says: /^a text\n/,
  },
]

for (const { name, file, text, says } of CASES)
  test(`${name} is told with file, line and reason first, and whole below`, async () => {
    using bundle = directory({ [file]: text })
    const error: unknown = await import(pathToFileURL(join(bundle.path, file)).href).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    const told = loadError(error, { directory: bundle.path, globs: ['steps/**/*'] })
    assert.match(told, says)
    assert.ok(!told.includes(bundle.path), told)
    assert.ok(told.split('\n').length > 1)
  })
