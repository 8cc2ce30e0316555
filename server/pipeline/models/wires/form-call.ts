import { type Failure, failure } from '../../../core/failure'
import type { ModelUpstream } from '../../../core/models/model'
import type { UnitsAsked } from '../../../core/models/unit-price'
import { err, ok, type Result } from '../../../core/result'
import { type FormPart, formParts, partStart, partText, writtenForm } from './form-parts'
import { edited } from './json/json-members'
import { invalidMember, type ModelRequest, missingMember } from './model-request'
import { PLAIN_REQUEST, type WirePath } from './model-wire'
import { type MemberRules, uncovered } from './priced-members'

type Fields = Readonly<Record<string, string>>

interface FormRules {
  readonly members: MemberRules
  /** Fields that may be sent several times. */
  readonly lists: readonly string[]
  /** The names of files. One must be there. */
  readonly files: readonly [string, ...string[]]
  /** The rule that a field breaks, instead of the units. */
  asked(fields: Fields, files: readonly FormPart[]): UnitsAsked | readonly [param: string, rule: string]
}

/** Reads a call that is a form with files, and writes it anew: no vendor may read another model or another price in it. */
export function readFormCall(
  bytes: Uint8Array<ArrayBuffer>,
  { boundary }: WirePath,
  { members, lists, files: names, asked }: FormRules,
): Result<ModelRequest, Failure> {
  const parts = boundary === undefined ? null : formParts(bytes, boundary)
  if (!parts) return err(failure('invalid_request', 'The body must be multipart/form-data, as the SDKs send it.'))
  const fields: Record<string, string> = {}
  const files: FormPart[] = []
  for (const part of parts) {
    const { name, content } = part
    const isTwice = Object.hasOwn(fields, name) || files.some((file) => file.name === name)
    if (isTwice && !lists.includes(name)) return invalidMember(name, 'must be sent once')
    if (names.includes(name)) {
      if (content.length === 0) return invalidMember(name, 'must not be empty')
      files.push(part)
      continue
    }
    const text = partText(part)
    if (text === null) return invalidMember(name, 'must be text')
    fields[name] = text
  }
  const { model } = fields
  if (model === undefined) return missingMember('model')
  if (files.length === 0) return missingMember(names[0])
  const units = asked(fields, files)
  if (!('unit' in units)) return invalidMember(...units)
  const form = writtenForm(parts)
  const start = form.starts[parts.findIndex(({ name }) => name === 'model')] ?? 0
  return ok({
    ...PLAIN_REQUEST,
    bytes: form.bytes,
    boundary: form.boundary,
    members: new Map([['model', { nameStart: start, start, end: start + Buffer.byteLength(model) }]]),
    model,
    units,
    uncovered: uncovered(fields, members),
  })
}

/** The form with the model's name at the upstream, and what the price depends on. */
export function formFor(
  { bytes, members, model, boundary = '', defaults = {} }: ModelRequest,
  upstream: ModelUpstream,
): Uint8Array<ArrayBuffer> {
  const added = Object.entries(defaults).map(([name, value]) => `${partStart(boundary, name, null)}${value}\r\n`)
  const member = members.get('model')
  return edited(bytes, [
    ...(added.length > 0 ? [{ start: 0, end: 0, text: added.join('') }] : []),
    ...(upstream.model !== model && member ? [{ ...member, text: upstream.model }] : []),
  ])
}
