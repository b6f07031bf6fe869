/** The judge of corruptions notices when a search overlooks something, and when a repair does. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { pagesOf } from './corruption/base.ts'
import { campaign } from './corruption/campaign.ts'
import { PARTS } from './corruption/judge.ts'
import { inspect } from '../../src/journal/sqlite/inspect.ts'
import type { FindingType } from '../../src/journal/sqlite/report.ts'

describe('the judge of corruptions', () => {
  /** Damage that nothing else finds, for each kind of finding. */
  const ONLY_FOUND_BY: readonly (readonly [FindingType, readonly string[]])[] = [
    ['file', ['old page put back', 'pages swapped']],
    ['row', ['value edited', 'rows swapped']],
    ['gap', ['row deleted']],
    ['digest', ['old row put back', 'row deleted']],
    ['anchor', ['old row put back', 'row deleted']],
  ]
  for (const [type, kinds] of ONLY_FOUND_BY)
    test(`a verify that overlooks ${type} findings is caught`, () => {
      const parts = { ...PARTS, verify: (directory: string) => overlooking(directory, type) }

      const outcome = campaign({
        seed: 1,
        corruptions: 300,
        each: 50,
        kinds,
        parts,
        untilWrong: true,
      })

      assert.match(String(outcome.wrong[0]), /not found/)
    })

  test('a repair that overlooks a page is caught', () => {
    const parts = {
      ...PARTS,
      pages: (files: ReadonlyMap<string, Buffer>) => {
        const pages = pagesOf(files)
        return {
          ...pages,
          page: (n: number) => (n === pages.count - 2 ? undefined : pages.page(n)),
        }
      },
    }

    const outcome = campaign({ seed: 1, corruptions: 100, each: 20, parts, untilWrong: true })

    assert.match(String(outcome.wrong[0]), /not kept/)
  })
})

function overlooking(directory: string, type: FindingType): ReturnType<typeof inspect> {
  const report = inspect(directory)
  const findings = report.findings.filter((finding) => finding.type !== type)
  return { ...report, findings, ok: findings.length === 0 }
}
