import type { ParameterError } from '../../core/catalogue/parameters'
import { type Failure, wrongParameters } from '../../core/failure'
import { no, ok, type Result } from '../../core/result'
import { isSocialScope, SOCIAL_SCOPES, type SocialScope } from '../../core/social/scopes'

export interface LinkRequest {
  /** None means all. */
  readonly scopes: readonly SocialScope[]
  /** Of the members that were asked for beside the scopes. */
  readonly text: Readonly<Record<string, string>>
}

/**
 * The body of a request to link an account: `scopes`, and the text members named in `required` and `optional`. Every wrong member and every
 * unknown scope is named at once (spec 4.3).
 */
export function linkWish(
  body: unknown,
  required: readonly string[] = [],
  optional: readonly string[] = [],
): Result<LinkRequest, Failure> {
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body)))
    return no(wrongParameters([wrong('body', 'must be a JSON object', body)]))
  const { scopes, ...rest } = Object(body ?? {}) as Record<string, unknown>
  const named = [...required, ...optional]
  const text = Object.fromEntries(
    named.filter((name) => rest[name] !== undefined).map((name) => [name, String(rest[name])]),
  )
  const errors = [
    ...named
      .filter((name) => (rest[name] === undefined ? required.includes(name) : !isText(rest[name])))
      .map((name) =>
        rest[name] === undefined
          ? wrong(name, 'is required', null, 'missing_parameter')
          : wrong(name, 'must be text', rest[name]),
      ),
    ...Object.keys(rest)
      .filter((name) => !named.includes(name))
      .map((name) => wrong(name.slice(0, 60), 'is not a member of this body', rest[name])),
  ]
  if (scopes !== undefined && (!Array.isArray(scopes) || scopes.length === 0 || scopes.length > 50))
    errors.push(wrong('scopes', 'must be a list of one scope or more', scopes))
  const list: readonly unknown[] = Array.isArray(scopes) ? scopes : []
  const unknown = list.filter((scope) => typeof scope !== 'string' || !isSocialScope(scope))
  if (unknown.length > 0)
    errors.push(wrong('scopes', `must be some of ${SOCIAL_SCOPES.join(' ')}; unknown: ${shown(unknown)}`, unknown))
  if (errors.length > 0) return no(wrongParameters(errors))
  return ok({ scopes: list.filter((scope): scope is SocialScope => isSocialScope(String(scope))), text })
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function wrong(
  param: string,
  rule: string,
  value: unknown,
  code: ParameterError['code'] = 'invalid_parameter',
): ParameterError {
  return {
    param,
    in: 'body',
    code,
    rule,
    received: value === null ? null : (JSON.stringify(value) ?? '').slice(0, 100),
  }
}

function shown(values: readonly unknown[]): string {
  return values
    .slice(0, 10)
    .map((value) => String(value).slice(0, 40))
    .join(' ')
}
