/**
 * Documents and code agree, in both directions. Every check is shown a disagreement first. The code
 * in the documents is run by `docs.slow.test.ts`.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { describe, test } from 'node:test'

import { createBroker } from '../src/broker/index.ts'
import { createEntities } from '../src/entity/index.ts'
import { memoryJournal } from '../src/journal/index.ts'
import { createHttp, loopbackAuthenticator } from '../src/http/index.ts'
import { createSystem } from '../src/kernel/index.ts'
import {
  compose,
  EXIT,
  KEY_NAMES,
  loadConfig,
  metricName,
  verbsOf,
  writtenConfig,
} from '../src/server/index.ts'
import { PRODUCT, silentLog, systemClock } from '../src/std/index.ts'
import {
  brokenLinks,
  codeBlocks,
  configKeys,
  documents,
  exportedNames,
  faultCodes,
  leavesOf,
  limitNames,
  numbersIn,
  printsAsShown,
  section,
  shellBlocks,
  tableRows,
  testClaims,
  wordsOf,
} from './docs.ts'
import { sourceTree } from './source.ts'

const tree = sourceTree()
const pages = documents()

function rowsOf(path: string): Map<string, readonly string[]> {
  return existsSync(path) ? tableRows(readFileSync(path, 'utf8')) : new Map()
}

describe('faults', () => {
  test('are found where they are made, and a code that is not written out is refused', () => {
    const text = `
      return fault('line-full', 'the line is full')
      throw new Accident(fault<'gone'>(
        'gone', 'it is gone'))
      // fault('in-a-comment', '')
      const text = "fault('in-a-string')"
      answer(isFault('not-made'), fault(code, 'hidden'))
      export function fault(code: string) {}
    `
    assert.deepEqual(faultCodes([{ path: 'src/a/b.ts', text }]), {
      codes: ['gone', 'line-full'],
      findings: ['src/a/b.ts: the code of a fault is written where the fault is made'],
    })
    assert.deepEqual(faultCodes([{ path: 'src/a/b.test.ts', text }]).codes, [])
  })

  test('in code and in docs/reference/faults.md are the same', () => {
    const { codes, findings } = faultCodes(tree)
    assert.deepEqual(findings, [])
    assert.deepEqual([...rowsOf('docs/reference/faults.md').keys()].toSorted(), codes)
  })
})

describe('limits', () => {
  test('are the exported constants that are named like one', () => {
    const text = `
      export const LINE_RUNS_MAX = 10
      export const LOADING_MS: number = 5
      export const PRODUCT = 'x'
      const HIDDEN_MAX = 3
      // export const OLD_MAX = 3
    `
    assert.deepEqual(
      limitNames([{ path: 'src/a/b.ts', text }]).map(({ name }) => name),
      ['LINE_RUNS_MAX', 'LOADING_MS'],
    )
  })

  test('are read from a table however people write numbers', () => {
    const rows = tableRows('| `A_MAX` | 10 000 bytes | why |\n| B_MAX | 1 |\n|---|---|\n')
    assert.deepEqual([...rows], [['A_MAX', ['10 000 bytes', 'why']]])
    for (const cell of ['10 000', '10_000', '10,000', '`10000`', '10000 ms', '= 10 000'])
      assert.deepEqual(numbersIn(cell), [10_000])
    assert.deepEqual(numbersIn('100 to 10 000 ms, × 2, jitter 0.2'), [100, 10_000, 2, 0.2])
    assert.deepEqual(numbersIn('none'), [])
  })

  test('in code and in docs/reference/limits.md are the same, with the same values', async () => {
    const inCode: Record<string, unknown> = {}
    for (const { path, name } of limitNames(tree)) {
      const module: Record<string, unknown> = await import(pathToFileURL(path).href)
      const value = module[name]
      inCode[name] = typeof value === 'object' ? Object.values(value ?? {}) : [value]
    }
    const inDocs = [...rowsOf('docs/reference/limits.md')].map(
      ([name, [value = '']]) => [name, numbersIn(value)] as const,
    )
    assert.deepEqual(Object.fromEntries(inDocs), inCode)
  })
})

describe('exports', () => {
  test('are the names of a door, types as well', () => {
    const text = `
      export { one, type Two } from './a.ts'
      export type { Three, Four as Five } from './b.ts'
      // export { six } from './c.ts'
      const seven = 7
    `
    assert.deepEqual(exportedNames(text), ['one', 'Two', 'Three', 'Five'])
  })

  test('are listed under the heading of their door', () => {
    const text = '# API\n## a\n| `x` | 1 |\n### more\n| `y` | 2 |\n## b\n| `z` | 3 |\n'
    assert.deepEqual([...tableRows(section(text, '## a')).keys()], ['x', 'y'])
    assert.deepEqual([...tableRows(section(text, '## b')).keys()], ['z'])
    assert.equal(section(text, '## c'), '')
  })

  const { exports }: { exports: Record<string, unknown> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  )
  for (const folder of Object.keys(exports).filter((path) => !path.endsWith('.json'))) {
    test(`of ${PRODUCT}${folder.slice(1)} and its part of docs/reference/api.md are the same`, () => {
      const page = readFileSync('docs/reference/api.md', 'utf8')
      const inDocs = tableRows(section(page, `## ${PRODUCT}${folder.slice(1)}`))
      const door = readFileSync(`src${folder.slice(1)}/index.ts`, 'utf8')
      assert.deepEqual([...inDocs.keys()].toSorted(), exportedNames(door).toSorted())
    })
  }
})

describe('metrics', () => {
  test('are the paths to all figures', () => {
    assert.deepEqual(leavesOf({ a: 1, b: { c: 0, d: { e: 1 } }, f: {} }), [
      'a',
      'b.c',
      'b.d.e',
      'f',
    ])
  })

  test('of a system, a journal, entities and a broker are those of docs/reference/metrics.md', async () => {
    const page = readFileSync('docs/reference/metrics.md', 'utf8')
    await using journal = await memoryJournal()
    await using system = createSystem()
    await using entities = createEntities({ system, journal })
    await using broker = await createBroker({ system, journal })
    for (const [heading, metrics] of [
      ['## System', system.metrics()],
      ['## Journal', journal.stats()],
      ['## Entities', entities.metrics()],
      ['## Broker', broker.metrics()],
    ] as const)
      assert.deepEqual(
        [...tableRows(section(page, heading)).keys()].toSorted(),
        leavesOf(metrics).toSorted(),
      )
  })
})

describe('metrics of the server', () => {
  test('are named after the fields of docs/reference/metrics.md, and what is marked now goes both ways', async () => {
    const page = readFileSync('docs/reference/metrics.md', 'utf8')
    const flags = [{ name: 'data.directory', value: 'memory', flag: '--memory' }]
    const { config } = await loadConfig({ directory: '/', environment: {}, flags })
    await using server = await compose(config, { log: silentLog, version: '0' })
    const { text } = await server.http.inject({ url: '/metrics' })
    const served = new Map(
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
    )
    const listed = ['kernel', 'journal', 'entity', 'broker', 'probe'].flatMap((part, n) => {
      const heading = ['## System', '## Journal', '## Entities', '## Broker', '## Tests'][n]!
      return [...tableRows(section(page, heading))].map(([field, [what = '']]) => {
        const name = metricName(part, field)
        if (/\*now\*/.test(what)) assert.equal(served.get(name), 'gauge', name)
        else if (name.endsWith('_total')) assert.equal(served.get(name), 'counter', name)
        return name
      })
    })
    const others = ['## HTTP', '## Stock', '## Process'].flatMap((heading) => [
      ...tableRows(section(page, heading)).keys(),
    ])
    assert.deepEqual([...listed, ...others].toSorted(), [...served.keys()].toSorted())
  })
})

describe('metrics of the http layer', () => {
  test('are those of docs/reference/metrics.md', () => {
    const page = readFileSync('docs/reference/metrics.md', 'utf8')
    const http = createHttp({
      routes: [],
      authenticator: loopbackAuthenticator(),
      log: silentLog,
      clock: systemClock,
      info: { title: PRODUCT, version: '0' },
    })
    const names = http.metrics().map(({ name }) => name)
    assert.deepEqual([...tableRows(section(page, '## HTTP')).keys()].toSorted(), names.toSorted())
  })
})

describe('trace', () => {
  test('types are the words of a union', () => {
    const text = `export type T =\n  | 'a'\n  | 'b-c'\n\nexport type U = 'd' | 'e'`
    assert.deepEqual(wordsOf(text, 'T'), ['a', 'b-c'])
    assert.deepEqual(wordsOf(text, 'U'), ['d', 'e'])
    assert.deepEqual(wordsOf(text, 'V'), [])
  })

  test('types in code and in docs/reference/trace.md are the same', () => {
    const inCode = wordsOf(readFileSync('src/kernel/trace.ts', 'utf8'), 'TraceType')
    const inDocs = [...rowsOf('docs/reference/trace.md').keys()]
    assert.ok(inCode.length > 0)
    assert.deepEqual(inDocs.toSorted(), inCode.toSorted())
  })
})

describe('seeds and security', () => {
  test('name files, and tests behind them', () => {
    const text = [
      'not a `src/row.ts` "at all"',
      '| `Word` | `src/a.ts` | `src/a.test.ts` "one", "two" |',
      '| none | planned: src/b | `PAGE.md`, `src/c/` |',
    ].join('\n')
    assert.deepEqual(testClaims(text), [
      { line: 2, file: 'src/a.ts', tests: [] },
      { line: 2, file: 'src/a.test.ts', tests: ['one', 'two'] },
      { line: 3, file: 'PAGE.md', tests: [] },
      { line: 3, file: 'src/c/', tests: [] },
    ])
  })

  for (const [page, least] of [
    ['docs/seeds.md', 100],
    ['docs/reference/security.md', 30],
  ] as const) {
    const claims = testClaims(readFileSync(page, 'utf8'))

    test(`name only files that are there, in ${page}`, () => {
      const missing = claims.filter(({ file }) => !existsSync(file))
      assert.deepEqual(missing, [])
      assert.ok(claims.length > least)
    })

    test(`quote only tests that are in the file they name, in ${page}`, () => {
      const missing = claims.flatMap(({ line, file, tests }) => {
        const source = tests.length > 0 && existsSync(file) ? readFileSync(file, 'utf8') : ''
        const text = source.replaceAll(/test\(\s+/g, 'test(')
        return tests
          .filter((name) => !["'", '"', '`'].some((q) => text.includes(`test(${q}${name}${q}`)))
          .map((name) => `${page}:${line}: ${file} has no test "${name}"`)
      })
      assert.deepEqual(missing, [])
    })
  }
})

describe('config', () => {
  test('keys are the environment variables that carry the product’s name', () => {
    const text = `read('ACME_PORT'); read("ACME_DATA_DIR"); read('OTHER_PORT')`
    assert.deepEqual(configKeys([{ path: 'src/server/config.ts', text }], 'acme'), [
      'ACME_DATA_DIR',
      'ACME_PORT',
    ])
  })

  test('keys in code and in docs/reference/config.md are the same, with the same defaults', async () => {
    const rows = rowsOf('docs/reference/config.md')
    const variables = configKeys(tree, PRODUCT)
    assert.deepEqual([...rows.keys()].toSorted(), [...KEY_NAMES, ...variables].toSorted())
    const { config } = await loadConfig({ directory: '/', environment: {}, flags: [] })
    for (const [name, value] of Object.entries(writtenConfig(config))) {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      assert.equal(rows.get(name)?.[0], value === undefined ? 'not set' : `\`${text}\``, name)
    }
  })
})

describe('the command line', () => {
  const page = readFileSync('docs/reference/cli.md', 'utf8')
  const rowsUnder = (heading: string): string[] => [...tableRows(section(page, heading)).keys()]

  test('has the verbs and options of docs/reference/cli.md', () => {
    const verbs = verbsOf()
    assert.deepEqual(rowsUnder('## Verbs'), [...verbs.keys()])
    const options = new Set([...verbs.values()].flat())
    assert.deepEqual(rowsUnder('## Options').toSorted(), [...options].toSorted())
  })

  test('ends with the codes of docs/reference/cli.md', () => {
    const rows = tableRows(section(page, '## Exit codes'))
    assert.deepEqual(
      Object.fromEntries([...rows].map(([code, [name = '']]) => [name, Number(code)])),
      EXIT,
    )
  })
})

describe('links', () => {
  test('lead to a file, and to a heading in it', () => {
    const text = `
# Top: \`a\` & b
## Same
## Same
[ok](other.md) [ok](../a.ts) [ok](#top-a--b) [ok](#same-1) [ok](https://example.org/x)
[bad](none.md) [bad](other.md#nowhere) [bad](#same-2) [bad](../../outside.md)
[ref]: gone.md
\`[code](code.md)\`
\`\`\`md
[fenced](fenced.md)
# Fenced
\`\`\`
`
    const found = brokenLinks(
      [
        { path: 'docs/page.md', text },
        { path: 'docs/other.md', text: '# Other' },
      ],
      (path) => ['docs/page.md', 'docs/other.md', 'a.ts'].includes(path),
    )
    assert.deepEqual(found, [
      'docs/page.md: none.md leads nowhere',
      'docs/page.md: other.md#nowhere names no heading',
      'docs/page.md: #same-2 names no heading',
      'docs/page.md: ../../outside.md leads nowhere',
      'docs/page.md: gone.md leads nowhere',
    ])
  })

  test('of every document lead somewhere', () => {
    assert.deepEqual(brokenLinks(pages), [])
  })
})

describe('code blocks', () => {
  test('are found with their line, their name, and with whether they run', () => {
    const text = [
      'text',
      '```ts',
      'one()',
      '```',
      '- item',
      '',
      '  ```ts no-run',
      '  two()',
      '    three()',
      '  ```',
      '```sh',
      'npm ci',
      '```',
      '```ts four.ts no-run',
      '```',
    ].join('\n')
    assert.deepEqual(codeBlocks([{ path: 'a.md', text }]), [
      { page: 'a.md', line: 2, runs: true, code: 'one()\n' },
      { page: 'a.md', line: 7, runs: false, code: 'two()\n  three()\n' },
      { page: 'a.md', line: 14, runs: false, file: 'four.ts', code: '' },
    ])
  })
})

describe('shell blocks', () => {
  test('are those marked to run, with what is shown right behind them', () => {
    const text = [
      '```sh',
      'npm ci',
      '```',
      '```sh run',
      'echo 1',
      '```',
      '',
      '```text',
      '1',
      '```',
      '```sh run',
      'echo 2',
      '```',
      'which is not shown:',
      '```text',
      '3',
      '```',
    ].join('\n')
    assert.deepEqual(shellBlocks([{ path: 'a.md', text }]), [
      { page: 'a.md', line: 4, code: 'echo 1\n', shown: '1\n' },
      { page: 'a.md', line: 11, code: 'echo 2\n' },
    ])
  })

  test('print what is shown, but for what is left out', () => {
    assert.ok(printsAsShown('{"a":1,"at":"now"}\n', '{ "a": 1,\n  "at": "…" }\n'))
    assert.ok(!printsAsShown('{"a":12,"at":"now"}', '{"a":1,"at":"…"}'))
    assert.ok(printsAsShown('HTTP/1.1 200 OK\r\nx: y\r\n', 'HTTP/1.1 200 OK\n…'))
    assert.ok(!printsAsShown('one\ntwo', 'one'))
  })
})
