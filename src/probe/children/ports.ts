/**
 * What the children of a test need of the world, as functions that are handed in.
 *
 * Each child is an actor around one of these; what they do is elsewhere. All of them reject with an
 * `Accident`; whoever is stopped aborts its signal, and disposes of what it has opened.
 */
import type { Fault } from '../../std/index.ts'
import type { Bundle } from '../bundle/directive.ts'
import type { Credentials } from '../events/events.ts'
import type { EvidenceFile } from '../record.ts'
import type { Runner, StepServices } from '../runner/runner.ts'
import type { LiveMask, Mask, Secret } from '../secrets/secrets.ts'
import type { BlockStorage, BundleLimits } from '../storage/storage.ts'

/** Directories of one test. */
export interface StagedTest {
  readonly bundle: string
  readonly evidence: string
  /** Both are gone afterwards; removing twice is once. */
  remove(): Promise<void>
}

export interface Staging {
  /** Empty directories for a test; what an earlier run has left there is removed. */
  open(testId: string): Promise<StagedTest>
  /** Those of a test whose evidence is not stored yet; undefined where there are none. */
  reopen(testId: string): Promise<StagedTest | undefined>
  /** Removes what no test of `kept` owns. Called once, before any other. */
  sweep(kept: ReadonlySet<string>): Promise<void>
}

/** A bundle that was fetched and checked, and where its evidence goes. */
export type Fetched = Readonly<{ bundle: Bundle; evidence: string }>

/** By `topic/role`, and by the names the directive gives. */
export type Security = Readonly<{
  credentials: ReadonlyMap<string, Credentials>
  secrets: ReadonlyMap<string, ReadonlyMap<string, Secret>>
}>

/** All that one run does with events: made before producer and consumer open, and ended after both. */
export interface EventRoom {
  /** Ends when it is disposed of. */
  openProducing(security: Security, signal: AbortSignal): Promise<AsyncDisposable>
  /** Resolves when every start is fixed. `onLost` says that a consumer has failed meanwhile. */
  openConsuming(
    security: Security,
    signal: AbortSignal,
    onLost: (error: unknown) => void,
  ): Promise<AsyncDisposable>
  /** What steps may call. */
  services(): StepServices
  /** What happens later is not evidence any more. Rejects if what happened could not be kept. */
  seal(): Promise<void>
}

export type EventRoomOptions = Readonly<{
  testId: string
  bundle: Bundle
  evidence: string
  security: Security
  mask: Mask
}>

export type ChildPorts = Readonly<{
  storage: BlockStorage
  staging: Staging
  bundleLimits: BundleLimits
  /** Checks features and directive; rejects with `bad-bundle`, or answers with it. */
  readBundle: (directory: string) => Promise<Bundle | Fault>
  /** The last thing that is written; gives all files with their sizes and hashes, by relative name. */
  sealEvidence: (directory: string) => Promise<readonly EvidenceFile[]>
  credentialsFor: (bundle: Bundle, mask: Mask, signal: AbortSignal) => Promise<Security>
  newMask: () => LiveMask
  openEvents: (options: EventRoomOptions) => EventRoom
  runner: Runner
}>

/** What the orchestrator itself needs besides. */
export type ProbePorts = ChildPorts &
  Readonly<{
    /** Takes a bundle; its path is a bucket. */
    receiveUpload: (
      testId: string,
      stream: AsyncIterable<Uint8Array>,
      options: Readonly<{ contentType: string; signal: AbortSignal }>,
    ) => Promise<Readonly<{ path: string }> | Fault>
    /** What was uploaded for a test that is forgotten. */
    removeUpload: (testId: string) => Promise<void>
  }>
