/** A request of SQS as it is on the wire, and its signature (AWS Signature Version 4), which is good for some minutes. */
import { createHash, createHmac } from 'node:crypto'
import { BODY, KEY, REGION } from './servers.ts'

export type Sending = Readonly<{ headers: Readonly<Record<string, string>>; body: string }>

export function sendingTo(queueUrl: string): Sending {
  return {
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'AmazonSQS.SendMessage',
    },
    body: JSON.stringify({ QueueUrl: queueUrl, MessageBody: BODY }),
  }
}

/** The same with all the headers signed that it has. */
export function signed({ headers, body }: Sending, host: string, now: Date): Sending {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const all: Record<string, string> = { ...headers, host, 'x-amz-date': time }
  const names = Object.keys(all).toSorted()
  const list = names.join(';')
  const lines = names.map((name) => `${name}:${all[name]}\n`).join('')
  const canonical = `POST\n/\n\n${lines}\n${list}\n${sha256(body)}`
  const day = time.slice(0, 8)
  const scope = `${day}/${REGION}/sqs/aws4_request`
  let key: string | Buffer = `AWS4${KEY.secretAccessKey}`
  for (const part of scope.split('/')) key = hmac(key, part)
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`
  const { host: _, ...sent } = all
  return {
    headers: {
      ...sent,
      authorization: `AWS4-HMAC-SHA256 Credential=${KEY.accessKeyId}/${scope}, SignedHeaders=${list}, Signature=${hmac(key, text).toString('hex')}`,
    },
    body,
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
