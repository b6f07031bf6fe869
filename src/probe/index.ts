/** The test orchestrator: tests are queued, run one after the other, and leave evidence. */
export { probeRoutes, type ProbeRoutesOptions } from './api/routes.ts'
export { readBundle } from './bundle/read-bundle.ts'
export { wordsOf, type Finding as BundleFinding } from './bundle/finding.ts'
export { badTags } from './checking.ts'
export { zipBundle } from './storage/zip.ts'
export { listSecrets, putSecret, removeSecret, type SecretFileOptions } from './secrets/file.ts'
export { createProbe, type CreateProbeOptions } from './create-probe.ts'
export type {
  ChangesOptions,
  InitializeOptions,
  ListTestsOptions,
  Probe,
  StartTestOptions,
  TestChange,
  TestPage,
  UploadOptions,
} from './probe.ts'
export type { ProbeMetrics } from './metrics.ts'
export { openPorts, type PortsOptions } from './open-ports.ts'
export type { ProbeSettings } from './options.ts'
export type { Policy } from './schedule.ts'
export type {
  Cancelled,
  Extended,
  Initialized,
  ModeChanged,
  ProbeFault,
  ProbeFaultCode,
  QueueMode,
  QueueStatus,
  Standing,
  Started,
  StartRefusal,
  TestStatus,
} from './protocol.ts'
export type {
  EvidenceFile,
  EvidenceState,
  RecordedState,
  StartOptions,
  TestError,
  TestEvent,
} from './record.ts'
export type { FailedScenario, Outcome, RunResult } from './result.ts'
export type {
  ChildPorts,
  EventRoom,
  EventRoomOptions,
  Fetched,
  ProbePorts,
  Security,
  StagedTest,
  Staging,
} from './children/ports.ts'
