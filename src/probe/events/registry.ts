/**
 * The port to a registry of schemas.
 *
 * A registered schema is immutable under its id. Subjects are `<topic>-<record name>`, so that events
 * of several types share a topic. What is not there is `undefined`; what cannot be had is thrown.
 */

export type SchemaType = 'avro' | 'protobuf' | 'json'

export type SchemaText = Readonly<{ type: SchemaType; text: string }>
export type RegisteredSchema = SchemaText & Readonly<{ id: number }>
export type SchemaVersion = RegisteredSchema & Readonly<{ version: number }>

export interface SchemaRegistry {
  byId(id: number): Promise<RegisteredSchema | undefined>
  /** Versions count from 1. */
  bySubject(subject: string, version: number | 'latest'): Promise<SchemaVersion | undefined>
  /** Answers with its id; the same text registered again has the same one. */
  register(subject: string, schema: SchemaText): Promise<number>
}

export function subjectOf(topic: string, record: string): string {
  return `${topic}-${record}`
}
