/** The world of an orchestrator that is measured: bundles never arrive, so that nothing else takes time. */
import { once } from 'node:events'
import type { ProbePorts } from '../../src/probe/index.ts'

const NO_MASK = {
  add: () => undefined,
  text: (text: string): string => text,
  stream: () => ({ push: (piece: string): string => piece, end: () => '' }),
}

export const PORTS: ProbePorts = {
  bundleLimits: { files: 1, fileBytes: 1, totalBytes: 1 },
  staging: {
    open: async () => ({ bundle: '', evidence: '', remove: async () => undefined }),
    reopen: async () => undefined,
    sweep: async () => undefined,
  },
  storage: {
    async fetch(_path, _directory, { signal }) {
      await once(signal, 'abort')
      throw signal.reason
    },
    store: async () => undefined,
    read: never,
  },
  readBundle: never,
  sealEvidence: async () => [],
  newMask: () => NO_MASK,
  credentialsFor: never,
  openEvents: never,
  runner: { start: never },
  receiveUpload: never,
  removeUpload: async () => undefined,
}

function never(): never {
  throw new Error('nothing is ever loaded here')
}
