import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { directory, FEATURE, type Files } from '../../../test/probe/bundles.ts'
import { isFault } from '../../std/index.ts'
import type { BundleLimits } from '../storage/storage.ts'
import type { Bundle } from './directive.ts'
import { DIRECTIVE_BYTES_MAX, TOPICS_MAX } from './directive-file.ts'
import { BUNDLE_LINES_MAX, FEATURE_BYTES_MAX, FEATURE_LINES_MAX, FEATURES_MAX } from './features.ts'
import { BUNDLE_FINDINGS_MAX, type Finding, wordsOf } from './finding.ts'
import { BUNDLE_LIMITS_DEFAULT, readBundle } from './read-bundle.ts'

const D = 'topic-directive.yaml'

async function good(files: Files): Promise<Bundle> {
  using bundle = directory(files)
  const read = await readBundle(bundle.path)
  if (isFault(read)) assert.fail(JSON.stringify(read.detail))
  return read
}

async function findingsIn(
  files: Files,
  options: { limits?: BundleLimits; prepare?: (path: string) => void } = {},
): Promise<readonly Finding[]> {
  using bundle = directory(files)
  options.prepare?.(bundle.path)
  const read = await readBundle(bundle.path, options.limits)
  assert.ok(isFault(read) && read.code === 'bad-bundle', 'the bundle is refused')
  const findings = read.detail['findings'] as readonly Finding[]
  for (const { remedy } of findings) assert.notEqual(remedy, '')
  assert.ok(read.message.startsWith(wordsOf(findings[0]!)), 'the message names the first finding')
  return findings
}

async function wordsIn(...args: Parameters<typeof findingsIn>): Promise<readonly string[]> {
  return (await findingsIn(...args)).map(wordsOf)
}

const withDirective = (yaml: string): Files => ({ 'features/a.feature': FEATURE, [D]: yaml })

const long = (lines: number): string => FEATURE.padEnd(FEATURE.length + lines - 4, '\n')

const topics = (count: number): string =>
  JSON.stringify({
    topics: Array.from({ length: count }, (_, n) => ({ topic: `t${n}`, role: 'consumer' })),
  })

const features = (count: number): Files =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`features/${n}.feature`, FEATURE]))

describe('readBundle', () => {
  test('a bundle is its features and what holds without a directive file', async () => {
    const bundle = await good({
      'features/b/c.feature': FEATURE,
      'features/a.feature': FEATURE,
      'features/d.feature.md': '# Feature: Orders\n\n## Scenario: One\n\n* Given an order\n',
      'features/notes.txt': '',
      'evidence/old.feature': 'no feature at all',
      '.git/x.feature': 'no feature at all',
    })

    assert.deepEqual(bundle.features, [
      'features/a.feature',
      'features/b/c.feature',
      'features/d.feature.md',
    ])
    assert.deepEqual(bundle.directive, {
      topics: [],
      tags: undefined,
      steps: ['steps/**/*.{js,mjs,cjs,ts,mts,cts}'],
      secrets: [],
      exclusive: [],
      parallel: 1,
      retries: 0,
      testingMs: undefined,
      network: false,
    })
  })

  // It fails without the lines `tags:` and `steps:` of `directiveOf`.
  test('probe-S5: tags and step definitions of the directive file reach the run, and so does the rest', async () => {
    const { directive } = await good({
      ...withDirective(`
topics:
  - topic: orders.events
    role: PRODUCER
    clientPrincipal: svc-orders
    eventFilters:
      - key: OrderCreated
        value: 1.0
    metadata: { environment: sit, shard: 3 }
    bootstrapServers: ' h1:9092 , h2.example.com:65535'
    create: 3
  - { topic: orders.events, role: consumer, from: earliest, keyFormat: none, valueFormat: Avro, schema: schemas/order.avsc }
tags: '@smoke and not (@slow or @wip)'
steps: [glue/**/*.ts]
secrets: [api-key]
exclusive: [orders]
parallel: 4
retries: 1
testingMs: 60000
network: true
`),
      'glue/deep/steps.ts': '',
      'schemas/order.avsc': '{}',
    })

    const common = { metadata: {}, bootstrapServers: undefined, create: undefined }
    assert.deepEqual(directive, {
      topics: [
        {
          topic: 'orders.events',
          role: 'producer',
          clientPrincipal: 'svc-orders',
          eventFilters: [{ key: 'OrderCreated', value: '1.0' }],
          metadata: { environment: 'sit', shard: '3' },
          bootstrapServers: 'h1:9092,h2.example.com:65535',
          keyFormat: 'cloudevent',
          valueFormat: 'json',
          schema: undefined,
          from: 'latest',
          create: 3,
          line: 3,
        },
        {
          ...common,
          topic: 'orders.events',
          role: 'consumer',
          clientPrincipal: undefined,
          eventFilters: [],
          keyFormat: 'none',
          valueFormat: 'avro',
          schema: 'schemas/order.avsc',
          from: 'earliest',
          line: 12,
        },
      ],
      tags: '@smoke and not (@slow or @wip)',
      steps: ['glue/**/*.ts'],
      secrets: ['api-key'],
      exclusive: ['orders'],
      parallel: 4,
      retries: 1,
      testingMs: 60_000,
      network: true,
    })
  })

  test('a byte order mark, CRLF and an empty directive file are no errors', async () => {
    await good({ 'features/a.feature': `\ufeff${FEATURE.replaceAll('\n', '\r\n')}`, [D]: '' })
    await good({ 'features/a.feature': FEATURE, [D]: '\ufefftopics: []\r\n' })
  })

  test('an alias is what it stands for', async () => {
    const { directive } = await good(
      withDirective(
        'topics: [{ topic: a, role: consumer, metadata: &m { x: y } }, { topic: b, role: consumer, metadata: *m }]',
      ),
    )
    assert.deepEqual(
      directive.topics.map(({ metadata }) => metadata),
      [{ x: 'y' }, { x: 'y' }],
    )
  })
})

const BAD: readonly Readonly<{ name: string; files: Files; words: readonly string[] }>[] = [
  { name: 'nothing in it', files: {}, words: ['features/: there is no *.feature file'] },
  {
    name: 'features that have no scenario',
    files: { 'features/a.feature': 'Feature: Nothing\n' },
    words: ['features/: there is no scenario in it'],
  },
  {
    name: 'a feature outside of features/',
    files: { 'features/a.feature': FEATURE, 'b.feature': FEATURE },
    words: ['b.feature: a feature here is not run'],
  },
  {
    name: 'an empty feature file',
    files: { 'features/a.feature': '# nothing\n', 'features/b.feature': FEATURE },
    words: ['features/a.feature:1: there is no feature in it'],
  },
  {
    name: 'a language that there is not',
    files: { 'features/a.feature': '# language: xx\nFeature: A\n' },
    words: ['features/a.feature:1: Language not supported: xx'],
  },
  {
    name: 'bytes that are no text',
    files: { 'features/a.feature': Buffer.from([0x46, 0xff, 0xfe]), [D]: Buffer.from('a\0b') },
    words: ['features/a.feature: it is no UTF-8 text', `${D}: it is no UTF-8 text`],
  },
  {
    name: 'broken YAML',
    files: withDirective('topics:\n  - topic: [a\n'),
    words: [
      `${D}:3: it is no YAML here: Flow sequence in block collection must be sufficiently indented and end with a ]`,
    ],
  },
  {
    name: 'a key that is there twice',
    files: withDirective('tags: "@a"\ntags: "@b"\n'),
    words: [`${D}:2: it is no YAML here: Map keys must be unique`],
  },
  {
    name: 'a list for a directive',
    files: withDirective('- a'),
    words: [`${D}:1: the directive file is no map`],
  },
  {
    name: 'unknown keys',
    files: withDirective(
      'topcis: []\nglue: []\ntopics:\n  - { topic: a, role: consumer, clientPrinciple: x }',
    ),
    words: [
      `${D}:1: the directive file has no key "topcis"`,
      `${D}:2: the directive file has no key "glue"`,
      `${D}:4: a topic has no key "clientPrinciple"`,
    ],
  },
  {
    name: 'a topic that is there twice in one role',
    files: withDirective(
      'topics:\n  - { topic: a, role: producer }\n  - { topic: a, role: consumer }\n  - { topic: a, role: PRODUCER }\n',
    ),
    words: [`${D}:4: the topic a is there twice as producer, first in line 2`],
  },
  {
    name: 'topics that lack something or have something odd',
    files: withDirective(`topics:
  - role: reader
  - topic: 'a b'
    role: producer
    bootstrapServers: 'h1:9092,,h2'
    eventFilters:
      - key: A
  - topic: b
    role: consumer
    clientPrincipal:
    create: 0
    valueFormat: xml
  - just text
`),
    words: [
      `${D}:2: a topic has no topic`,
      `${D}:2: role is none of producer, consumer`,
      `${D}:3: a topic cannot be named "a b"`,
      `${D}:5: bootstrapServers is no list of brokers: "h1:9092,,h2"`,
      `${D}:7: an event filter has no value`,
      `${D}:10: clientPrincipal has no text`,
      `${D}:11: create is no whole number from 1 to 1000`,
      `${D}:12: valueFormat is none of json, avro, protobuf, string, bytes`,
      `${D}:13: a topic is no map`,
    ],
  },
  {
    name: 'settings that do not go together',
    files: withDirective(`topics:
  - topic: a
    role: consumer
    keyFormat: string
    eventFilters: [{ key: A, value: v1 }]
    schema: x.avsc
  - topic: b
    role: consumer
    valueFormat: protobuf
    schema: ../secret.proto
  - topic: c
    role: consumer
    valueFormat: protobuf
    schema: c.proto
`),
    words: [
      `${D}:2: the schema x.avsc is not in the bundle`,
      `${D}:5: eventFilters look at CloudEvent keys, and keyFormat is string`,
      `${D}:10: schema names no file of the bundle: its name leads out of the bundle or back`,
      `${D}:11: the schema c.proto is not in the bundle`,
    ],
  },
  {
    name: 'settings of the wrong kind',
    files: withDirective(
      'tags: [a]\nsteps: x\nsecrets: [[]]\nparallel: 65\nretries: 1.5\ntestingMs: 1s\nnetwork: maybe\n',
    ),
    words: [
      `${D}:1: tags has no text`,
      `${D}:2: steps is no list`,
      `${D}:3: an entry of secrets has no text`,
      `${D}:4: parallel is no whole number from 1 to 64`,
      `${D}:5: retries is no whole number from 0 to 10`,
      `${D}:6: testingMs is no whole number from 1 to 86400000`,
      `${D}:7: network is neither true nor false`,
    ],
  },
  {
    name: 'steps that are not there, or elsewhere',
    files: withDirective('steps:\n  - lib/*.ts\n  - ../x.ts\n'),
    words: [
      `${D}:1: steps has "lib/*.ts", and no file of the bundle is named so`,
      `${D}:1: steps has "../x.ts", and its name leads out of the bundle or back`,
    ],
  },
  {
    name: 'a directive file under another name',
    files: { 'features/a.feature': FEATURE, 'topic-directives.yml': 'topics: []' },
    words: ['topic-directives.yml: it is not read under this name'],
  },
]

async function remedies(text: string): Promise<readonly string[]> {
  return (await findingsIn(withDirective(text))).map(({ remedy }) => remedy)
}

describe('a bad bundle', () => {
  for (const { name, files, words } of BAD)
    test(`with ${name} is refused with file and line`, async () => {
      assert.deepEqual(await wordsIn(files), words)
    })

  test('that is not there, or is no directory, is refused as well', async () => {
    using home = directory({ file: '' })
    for (const [name, message] of [
      ['nothing', 'there is no such directory'],
      ['file', 'it is no directory'],
    ] as const) {
      const path = join(home.path, name)
      const read = await readBundle(path)
      assert.ok(isFault(read))
      assert.equal(read.message, `${path}: ${message}`)
    }
  })

  test('with malformed features is refused with every line of every file', async () => {
    const findings = await findingsIn({
      'features/a.feature': 'Feature: A\n  Scenario: B\n    Given y\n    Givn x\n    oops\n',
      'features/b.feature':
        'Feature: A\n  Scenario Outline: B\n    Given x\n    Examples:\n      | a |\n      | 1 | 2 |\n',
    })
    assert.deepEqual(
      findings.map(({ file, line }) => `${file}:${line}`),
      ['features/a.feature:4', 'features/a.feature:5', 'features/b.feature:6'],
    )
    assert.match(findings[0]!.message, /^expected: .*, got 'Givn x'$/)
    assert.equal(findings[2]!.message, 'inconsistent cell count within the table')
    assert.equal(findings[2]!.remedy, 'give every row of the table as many cells as the first has')
  })

  test('with a key or a word that is misspelled is told so once, with what was meant', async () => {
    assert.deepEqual(await remedies('topics: [{ topic: a, rol: consumer }]'), [
      'did you mean role?',
    ])
    assert.deepEqual(await remedies('topics: [{ topic: a, role: consumr }]'), [
      'did you mean consumer?',
    ])
    assert.deepEqual(await remedies('topics: [{ topic: a, role: none }]'), [
      'write producer or consumer',
    ])
  })

  test('with a broken tag expression is refused with the line of it', async () => {
    const [finding, ...others] = await findingsIn(withDirective('parallel: 1\ntags: "@a and or"'))
    assert.equal(finding?.line, 2)
    assert.match(finding?.message ?? '', /^tags is no tag expression: /)
    assert.deepEqual(others, [])
  })

  test('is told everything at once, and the nearest name of an unknown key', async () => {
    const findings = await findingsIn({
      'features/a.feature': 'Feature: A\n  Scenario: B\n    Given x\n    oops\n',
      [D]: 'tgas: "@a"\n',
    })
    assert.deepEqual(
      findings.map(({ file, line }) => [file, line]),
      [
        ['features/a.feature', 4],
        [D, 1],
      ],
    )
    assert.equal(findings[1]!.remedy, 'did you mean tags?')
  })

  test('with links, pipes and names that play tricks is refused, and none of them is opened', async () => {
    const words = await wordsIn(
      { 'features/a.feature': FEATURE, 'new\nline.txt': '', 'back\\slash.txt': '' },
      {
        prepare(path) {
          symlinkSync('/etc/passwd', join(path, 'steps.ts'))
          symlinkSync('/', join(path, 'features/root'))
          execFileSync('mkfifo', [join(path, 'features/pipe.feature')])
        },
      },
    )
    assert.deepEqual(words, [
      'back\\slash.txt: its name has a backslash',
      'features/pipe.feature: it is no file',
      'features/root: it is a link',
      'new\\u000aline.txt: its name has a control character',
      'steps.ts: it is a link',
    ])
  })

  test('that is too large is refused at one past each limit', async () => {
    const limits = { files: 3, fileBytes: 100, totalBytes: 150 }
    const files = { 'features/a.feature': FEATURE.padEnd(100, '\n') }
    using bundle = directory({ ...files, b: 'x'.repeat(50) })
    assert.equal(isFault(await readBundle(bundle.path, limits)), false)

    assert.deepEqual(await wordsIn({ ...files, b: 'x'.repeat(51) }, { limits }), [
      '.: it has 151 bytes, and 150 is the most',
    ])
    assert.deepEqual(
      await wordsIn({ 'features/a.feature': FEATURE.padEnd(101, '\n') }, { limits }),
      ['features/a.feature: it has 101 bytes, and 100 is the most'],
    )
    assert.deepEqual(await wordsIn({ ...files, b: '', c: '' }, { limits }), [
      '.: there are more than 3 files',
    ])
    assert.ok(BUNDLE_LIMITS_DEFAULT.fileBytes < 2 ** 30)
  })

  test('with a file that is too large for its kind is refused', async () => {
    const at = '#'.repeat(DIRECTIVE_BYTES_MAX)
    await good({ 'features/a.feature': FEATURE.padEnd(FEATURE_BYTES_MAX), [D]: at })
    assert.deepEqual(
      await wordsIn({ 'features/a.feature': FEATURE.padEnd(FEATURE_BYTES_MAX + 1), [D]: `${at}#` }),
      [
        'features/a.feature: it has 262145 bytes, and 262144 is the most',
        `${D}: it has 65537 bytes, and 65536 is the most`,
      ],
    )
  })

  test('with features of too many lines is refused', async () => {
    const some = (count: number): Files =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`features/${n}.feature`, long(FEATURE_LINES_MAX)]),
      )
    await good(some(BUNDLE_LINES_MAX / FEATURE_LINES_MAX))
    assert.deepEqual(await wordsIn({ 'features/a.feature': long(FEATURE_LINES_MAX + 1) }), [
      'features/a.feature: it has 10001 lines, and 10000 is the most',
    ])
    assert.deepEqual(
      await wordsIn({
        ...some(BUNDLE_LINES_MAX / FEATURE_LINES_MAX),
        'features/z.feature': long(4),
      }),
      ['features/: it has 50004 lines, and 50000 is the most'],
    )
  })

  test('with too many topics or features is refused', async () => {
    assert.equal(
      (await good(withDirective(topics(TOPICS_MAX)))).directive.topics.length,
      TOPICS_MAX,
    )
    assert.deepEqual(await wordsIn(withDirective(topics(TOPICS_MAX + 1))), [
      `${D}:1: topics has 101 entries`,
    ])

    assert.equal((await good(features(FEATURES_MAX))).features.length, FEATURES_MAX)
    assert.deepEqual(await wordsIn(features(FEATURES_MAX + 1)), [
      'features/: it has 1001 features, and 1000 is the most',
    ])
  })

  test('with very many errors is refused with the first of them and their number', async () => {
    using bundle = directory(
      withDirective(Array.from({ length: 300 }, (_, n) => `x${n}: 1`).join('\n')),
    )
    const read = await readBundle(bundle.path)
    assert.ok(isFault(read))
    assert.equal((read.detail['findings'] as unknown[]).length, BUNDLE_FINDINGS_MAX)
    assert.equal(read.detail['count'], 300)
    assert.match(read.message, /\(and 299 more\)$/)
  })

  test('that multiplies itself by aliases costs nothing', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    for (let n = 1; n < 30; n++)
      lines.push(`a${n}: &a${n} [${Array.from({ length: 10 }, () => `*a${n - 1}`).join(', ')}]`)
    lines.push('secrets: *a29')
    const words = await wordsIn(withDirective(lines.join('\n')))
    assert.equal(
      words.filter((line) => line.endsWith('an entry of secrets has no text')).length,
      10,
    )
  })
})
