import { journalConformance } from '../../src/testkit/index.ts'
import { inMemory, onDisk } from './memory-engines.ts'

journalConformance('in memory', inMemory)
journalConformance('in memory over a disk', onDisk({ seed: 7 }))
