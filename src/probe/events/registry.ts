/**
 * The port to a registry of schemas.
 *
 * A registered schema is immutable under its id. Subjects are `<topic>-<record name>`, so that events
 * of several types share a topic. What is not there is `undefined`; what cannot be had is thrown.
 */

export type SchemaType = 'avro' | 'protobuf' | 'json'

export type SchemaText = Readonly<{ type: SchemaType; text: string }>
export type RegisteredSchema = SchemaText & Readonly<{ id: number }>

export interface SchemaRegistry {
  byId(id: number): Promise<RegisteredSchema | undefined>
  bySubject(
    subject: string,
    version: number | 'latest',
  ): Promise<(RegisteredSchema & Readonly<{ version: number }>) | undefined>
  /** The same text registered again has the same id. */
  register(subject: string, schema: SchemaText): Promise<number>
}

export function subjectOf(topic: string, record: string): string {
  return `${topic}-${record}`
}
