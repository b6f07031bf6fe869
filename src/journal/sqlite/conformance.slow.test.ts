import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { journalConformance } from '../../testkit/index.ts'
import { sqliteJournal } from './engine.ts'

journalConformance(
  'the embedded engine',
  {
    isLasting: true,
    canCrash: false,
    async storage(clock) {
      const directory = await mkdtemp(join(tmpdir(), 'journal-'))
      return {
        open: ({ ledgerRetentionMs }) => sqliteJournal({ directory, clock, ledgerRetentionMs }),
        remove: () => rm(directory, { recursive: true }),
      }
    },
  },
  { programs: 20 },
)
