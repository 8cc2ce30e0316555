import { FAILURES } from '../middleware/failures'
import {
  instant,
  type JsonSchema,
  listOf,
  oneOf,
  opaque,
  orNull,
  record,
  ref,
  text,
  whole,
  yesOrNo,
} from './json-schema'

const TYPES = [...new Set(Object.values(FAILURES).map(({ type }) => type))]

/** The one error shape (spec-answers 2), and the price it can hold. */
export const ERROR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: record('Every failure of the gateway itself, on every route.', {
    error: record(
      'What went wrong, and what to do.',
      {
        type: oneOf(TYPES, 'The family of the failure.'),
        code: text('The failure itself: stable, for programs.'),
        message: text('For people. Do not parse it.'),
        request_id: text('Our id of the request, to quote when you ask about it.'),
        param: text('The first wrong parameter.'),
        limit_source: oneOf(['key', 'app', 'account', 'address', 'upstream'], 'Whose limit was reached.'),
        retry_after: whole('Seconds to wait, as in Retry-After.', { minimum: 0 }),
        price: ref('Price'),
        details: listOf(ref('WrongParameter'), 'Every wrong parameter of the request.'),
      },
      ['param', 'limit_source', 'retry_after', 'price', 'details'],
    ),
  }),
  PaymentProblem: record(
    'A 402 that can be paid: a problem of RFC 9457, and our own shape in it. The challenge is in WWW-Authenticate.',
    {
      type: text('The kind of the problem, as clients of the Payment scheme know it.', { format: 'uri' }),
      title: text('The kind, for people.'),
      status: whole('402.'),
      detail: text('For people. Do not parse it.'),
      challengeId: text('The id of the first challenge.'),
      error: opaque({ type: 'object', description: 'The same as in `Error`.' }),
    },
  ),
  WrongParameter: record('One wrong parameter.', {
    param: text('Its name.'),
    in: oneOf(['query', 'header', 'body'], 'Where it was looked for.'),
    code: oneOf(['missing_parameter', 'invalid_parameter'], 'Missing, or wrong.'),
    rule: text('The rule that it breaks.'),
    received: orNull(text('What was sent, shortened.')),
  }),
  Price: record('A price per successful request.', {
    mode: oneOf(['fixed', 'most'], '`fixed`, or the most that the request can cost.'),
    currency: oneOf(['USD'], 'Its currency.'),
    amount: text('The amount as a decimal.', { pattern: '^\\d+(\\.\\d{1,6})?$' }),
  }),
  Ready: record(
    'Whether calls can be served.',
    {
      status: oneOf(['ready', 'not_ready', 'draining'], 'The verdict.'),
      checks: opaque({
        type: 'object',
        description: 'Each part of the gateway that must work. To operators only, as what follows.',
        additionalProperties: { type: 'boolean' },
      }),
      sources: opaque({
        type: 'object',
        description:
          'Where search answers come from, in the order they are asked, and whether each could answer now. They do not decide whether this server is ready.',
        additionalProperties: { type: 'boolean' },
      }),
      models: listOf(
        record('One upstream of models.', {
          name: text('Which.'),
          breaker: oneOf(
            ['closed', 'open', 'probing'],
            'Closed: calls go there. Open: it failed again and again, and gets none.',
          ),
          under_way: whole('Calls under way.'),
        }),
        'Upstreams of models that were called since the start. They do not decide whether this server is ready.',
      ),
    },
    ['checks', 'sources', 'models'],
  ),
  Health: record('The process lives.', { status: oneOf(['ok'], 'Always ok.') }),
  User: record('A person who signed up.', {
    id: text('Id of the person.'),
    name: text('Name.'),
    email: text('E-mail address.', { format: 'email' }),
    emailVerified: yesOrNo('Whether the address was confirmed.'),
    image: orNull(text('Pictures are not kept.')),
    createdAt: instant('Signed up at.'),
    updatedAt: instant('Changed at.'),
  }),
  Session: record('A session of a person.', {
    id: text('Id of the session.'),
    userId: text('Whose it is.'),
    token: text('The session token, which the cookie holds signed.'),
    expiresAt: instant('Ends at, unless it is used before.'),
    createdAt: instant('Signed in at.'),
    updatedAt: instant('Extended at.'),
    ipAddress: orNull(text('Address it was made from.')),
    userAgent: orNull(text('Program it was made with.')),
  }),
}
