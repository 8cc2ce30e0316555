import type { Failure, FailureCode } from '../failure'
import type { FailureNote } from './call-record'

/**
 * The stored form of failures whose messages may quote the caller's input. A failure that names its parameter is stored with the name
 * and the rule instead.
 */
const ABOUT_INPUT: Partial<Record<FailureCode, string>> = {
  missing_parameter: 'A parameter is missing.',
  invalid_parameter: 'A parameter is not valid.',
  json_parse_error: 'The body is not valid JSON.',
  unsupported_parameter: 'A parameter is not available for this model.',
  max_tokens_exceeded: 'The tokens that the call may use exceed the limit of tokens per minute.',
  unknown_model: 'There is no such model. GET /v1/models lists the available models.',
  unknown_endpoint: 'This endpoint does not exist. /docs lists all endpoints.',
  method_not_allowed: 'The endpoint does not support this method.',
  unsupported_media_type: 'The gateway does not read bodies of this type.',
  not_acceptable: 'The gateway does not answer in the type that Accept asks for.',
  estimated_price_exceeds_max_price: 'The call could cost more than X-Max-Price-USD.',
  resource_not_found: 'There is nothing with this id.',
  ip_not_allowed: "The call did not come from the key's list of allowed addresses.",
}

/** A parameter of ours, or a property that looks like one. A name that a caller made up may be anything, even a secret. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z_-]{0,39}(?:(?:\[\d{1,4}\]|\.\d{1,4})?(?:\.[A-Za-z][A-Za-z_-]{0,39})?){0,6}$/
const MAX_CHARACTERS = 300

/** The stored explanation of a failed call: never anything that its caller sent. */
export function failureNote(problem: Failure, route: string | null): FailureNote {
  const { code, message, passThrough } = problem
  if (passThrough)
    return {
      route,
      param: null,
      rule: null,
      message: `The upstream provider refused the request with status ${passThrough.status}. Its own message was in the response and is not stored.`,
    }
  const general = ABOUT_INPUT[code]
  if (general === undefined) return { route, message: short(message), param: notedParam(problem), rule: null }
  const param = notedParam(problem)
  const rule = param === null ? null : ruleOf(problem)
  const more = (problem.details?.length ?? 0) > 1 ? ` (and ${(problem.details?.length ?? 0) - 1} more)` : ''
  return { route, message: rule === null ? general : `${param} ${rule}${more}`, param, rule }
}

function notedParam({ code, param }: Failure): string | null {
  if (param === undefined || !PLAIN_NAME.test(param)) return null
  // The next member may be the type of a part of a message, which is a value.
  return code === 'unsupported_parameter' ? (param.split(/[.[]/)[0] ?? null) : param
}

/** A JSON Pointer within a body by names that may be kept, such as `/items/0/price`. */
const PLAIN_POINTER = /^(?:\/(?:[A-Za-z_-]{1,40}|\d{1,4}))+$/
/** A rule of a schema: the pointer, and what is wrong there. The names in the pointer are the caller's, and may say anything. */
const RULE_AT_POINTER = /^(\/.*) ((?:must|is|has|contains) .*)$/su

/** The rule of the first wrong parameter. Text between its first and last quote was received. */
function ruleOf({ param = '', message, details }: Failure): string | null {
  const rule = details?.[0]?.rule ?? (message.startsWith(`${param} `) ? message.slice(param.length + 1) : null)
  if (rule === null) return null
  const [, pointer = '', broken = ''] = RULE_AT_POINTER.exec(rule) ?? []
  const safe = pointer !== '' && !PLAIN_POINTER.test(pointer) ? `a property of it ${broken}` : rule
  return short(safe.replace(/".*"/su, '"..."'))
}

function short(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}...` : text
}
