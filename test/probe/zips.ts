/** ZIP archives made by hand, so that they can say what no archiver would write. */
import { crc32, deflateRawSync } from 'node:zlib'

export type ZipEntry = Readonly<{
  name: string
  data?: Uint8Array | string
  /** Unix mode, such as 0o120777 for a link. */
  mode?: number
  stored?: boolean
  /** What the archive claims instead of the truth. */
  size?: number
  sum?: number
  flags?: number
}>

export function zipOf(entries: readonly ZipEntry[], claimedCount: number = entries.length): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const data = Buffer.from(entry.data ?? '')
    const packed = entry.stored === true ? data : deflateRawSync(data)
    const name = Buffer.from(entry.name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(entry.flags ?? 0x0800, 2)
    common.writeUInt16LE(entry.stored === true ? 0 : 8, 4)
    common.writeUInt32LE(entry.sum ?? crc32(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(entry.size ?? data.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(((entry.mode ?? 0o100644) << 16) >>> 0, 6)
    tail.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, tail, name]))
    parts.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(claimedCount, 8)
  end.writeUInt16LE(claimedCount, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, central, end])
}
