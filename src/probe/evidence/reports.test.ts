import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { cucumberJson } from './cucumber-json.ts'
import { junitXml } from './junit.ts'
import { StoryTeller, type Story } from './story.ts'

const DOCUMENT = {
  uri: 'a.feature',
  feature: {
    keyword: 'Feature',
    name: 'A <b> & "c"',
    description: '',
    location: { line: 1 },
    tags: [{ id: 'tag', name: '@x', location: { line: 1 } }],
    children: [
      {
        scenario: {
          id: 'scenario',
          keyword: 'Scenario',
          name: 'first',
          location: { line: 3 },
          steps: [
            { id: 'written', keyword: 'Given ', text: 'a', location: { line: 4 } },
            { id: 'other', keyword: 'Then ', text: 'b', location: { line: 5 } },
          ],
        },
      },
    ],
  },
}

const PICKLE = {
  id: 'pickle',
  uri: 'a.feature',
  name: 'first',
  astNodeIds: ['scenario'],
  tags: [{ name: '@x', astNodeId: 'tag' }],
  steps: [
    {
      id: 'p1',
      text: 'a',
      astNodeIds: ['written'],
      argument: { dataTable: { rows: [{ cells: [{ value: '1' }] }] } },
    },
    { id: 'p2', text: 'b', astNodeIds: ['other'], argument: { docString: { content: 'doc' } } },
  ],
}

const TEST_CASE = {
  id: 'case',
  pickleId: 'pickle',
  testSteps: [
    { id: 't0', hookId: 'hook' },
    { id: 't1', pickleStepId: 'p1' },
    { id: 't2', pickleStepId: 'p2' },
  ],
}

function ends(testStepId: string, status: string, message?: string, started = 's'): object {
  const duration = { seconds: 1, nanos: 500_000_000 }
  const testStepResult = { status, message, duration }
  return { testStepFinished: { testCaseStartedId: started, testStepId, testStepResult } }
}

function storyOf(...envelopes: readonly object[]): Story {
  const teller = new StoryTeller()
  for (const envelope of [
    { gherkinDocument: DOCUMENT },
    { pickle: PICKLE },
    { testCase: TEST_CASE },
    ...envelopes,
  ])
    teller.add({ ...envelope })
  return teller.story()
}

const STARTED = { testCaseStarted: { id: 's', testCaseId: 'case' } }
const FINISHED = { testRunFinished: { success: true } }

describe('the story of a run', () => {
  const whole = storyOf(
    STARTED,
    ends('t0', 'PASSED'),
    ends('t1', 'PASSED'),
    ends('t2', 'FAILED', 'not <so>\u0000'),
    {
      attachment: {
        testCaseStartedId: 's',
        testStepId: 't2',
        body: 'note',
        contentEncoding: 'IDENTITY',
        mediaType: 'text/plain',
      },
    },
    FINISHED,
  )

  test('has the report that tools know', () => {
    assert.deepEqual(JSON.parse(cucumberJson(whole)), [
      {
        keyword: 'Feature',
        name: 'A <b> & "c"',
        description: '',
        line: 1,
        uri: 'a.feature',
        tags: [{ name: '@x', line: 1 }],
        id: 'a-<b>-&-"c"',
        elements: [
          {
            id: 'a-<b>-&-"c";first;3',
            type: 'scenario',
            keyword: 'Scenario',
            name: 'first',
            description: '',
            line: 3,
            tags: [{ name: '@x', line: 1 }],
            steps: [
              { keyword: 'Before', hidden: true, result: { status: 'passed', duration: 1.5e9 } },
              {
                keyword: 'Given ',
                name: 'a',
                line: 4,
                arguments: [{ rows: [{ cells: ['1'] }] }],
                result: { status: 'passed', duration: 1.5e9 },
              },
              {
                keyword: 'Then ',
                name: 'b',
                line: 5,
                arguments: [{ content: 'doc', line: 5 }],
                result: {
                  status: 'failed',
                  duration: 1.5e9,
                  error_message: 'not <so>\u0000',
                },
                embeddings: [{ mime_type: 'text/plain', data: 'bm90ZQ==' }],
              },
            ],
          },
        ],
      },
    ])
  })

  test('is XML whatever people have written', () => {
    assert.equal(
      junitXml(whole, { name: 'it', failure: undefined }),
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<testsuite name="it" tests="1" failures="1" errors="0" skipped="0" time="4.500">',
        '  <testcase classname="A &lt;b&gt; &amp; &quot;c&quot;" name="first" file="a.feature" ' +
          'line="3" time="4.500"><failure message="failed: b">not &lt;so&gt;\uFFFD</failure></testcase>',
        '</testsuite>',
        '',
      ].join('\n'),
    )
  })

  test('shows where a run stopped that came to no end', () => {
    const stopped = storyOf(STARTED, ends('t0', 'PASSED'))
    const xml = junitXml(stopped, { name: 'it', failure: 'it was killed' })
    assert.match(xml, /tests="2" failures="2"/)
    assert.match(xml, /message="unknown: a"/)
    assert.match(xml, /message="it was killed"/)
    assert.match(cucumberJson(stopped), /"status": "unknown"/)
  })

  test('of nothing is a failure, for those who only look for failures', () => {
    const nothing = new StoryTeller().story()
    assert.match(junitXml(nothing, { name: 'it', failure: undefined }), /failures="1"/)
    assert.equal(cucumberJson(nothing), '[]\n')
  })

  test('tells the last attempt only', () => {
    const second = { testCaseStarted: { id: 'again', testCaseId: 'case' } }
    const story = storyOf(
      STARTED,
      ends('t1', 'FAILED'),
      second,
      ...['t0', 't1', 't2'].map((step) => ends(step, 'PASSED', undefined, 'again')),
      FINISHED,
    )
    assert.equal(story.features[0]?.scenarios[0]?.status, 'passed')
    assert.match(junitXml(story, { name: 'it', failure: undefined }), /failures="0"/)
  })
})
