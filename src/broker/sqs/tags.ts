/** Tags of queues, as CreateQueue and TagQueue take them. */
import { QUEUE_TAGS_MAX } from '../limits.ts'
import { SqsError } from './errors.ts'

const KEY_CHARS_MAX = 128
const VALUE_CHARS_MAX = 256

export function checkTags(tags: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(tags)) {
    if (key.length < 1 || key.length > KEY_CHARS_MAX)
      throw refusal(`Tag keys must be between 1 and ${KEY_CHARS_MAX} characters in length.`)
    if (value.length > VALUE_CHARS_MAX)
      throw refusal(`Tag values must be between 0 and ${VALUE_CHARS_MAX} characters in length.`)
  }
  if (Object.keys(tags).length > QUEUE_TAGS_MAX)
    throw refusal(`A queue can have ${QUEUE_TAGS_MAX} tags at most.`)
}

function refusal(said: string): SqsError {
  return new SqsError('InvalidParameterValue', said)
}
