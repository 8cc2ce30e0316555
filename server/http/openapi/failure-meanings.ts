import type { FailureCode } from '../../core/failure'
import type { EndCode } from '../../core/usage/call-record'

/**
 * The meaning of each code, for the API documentation and the request log. It must hold for every failure with that code,
 * whose own message is more specific. A new code without a line does not compile.
 */
export const FAILURE_MEANINGS: Readonly<Record<FailureCode, string>> = {
  missing_parameter: 'A required parameter is missing. `details` lists every invalid parameter.',
  invalid_parameter: 'A parameter is invalid. `details` lists every invalid parameter and the rule it violates.',
  json_parse_error: 'The body is not valid JSON in UTF-8.',
  invalid_request: 'The request as a whole is not valid, for example because its body is not a JSON object.',
  missing_session: 'Sign in first: this route needs the session cookie.',
  recent_sign_in_required: 'This needs a recent sign-in. Sign in again.',
  second_factor_required: 'This needs a sign-in with a second factor. Set one up in Settings, or sign in with yours.',
  account_suspended:
    'An operator suspended this account. The message says why. Its balance is kept; contact the operator of this gateway.',
  missing_api_key: 'This route needs an API key: send Authorization: Bearer <API_KEY>.',
  invalid_api_key: 'This API key is unknown or was revoked.',
  invalid_token: 'This access token is unknown, expired or revoked, or was issued for another resource of the gateway.',
  api_key_disabled: 'This API key is disabled.',
  expired_api_key: 'This API key has expired.',
  payment_required:
    'This request needs a payment: answer the challenge, or send an API key where the route takes one. The price is in the body.',
  malformed_credential: 'The payment credential cannot be read. This response carries a new challenge.',
  invalid_challenge:
    'The credential is not for this request, or was already used. This response carries a new challenge.',
  payment_expired: 'The challenge has expired. This response carries a new one.',
  invalid_payload: 'The credential does not have the format that its payment method requires.',
  verification_failed: 'The payment cannot go through, or does not match the challenge. Nothing was charged.',
  payment_in_progress:
    'Another request with this payment is in progress. Send the request again with the same credential; do not pay a second time.',
  payment_pending:
    'It is not known yet whether this payment went through. Send the request again with the same credential; do not pay a second time.',
  payment_network_unavailable:
    'The payment network is not responding. Nothing was charged and the credential stays valid. Try again later.',
  recharge_required: 'This model needs a first top-up: signup credit does not pay for it.',
  insufficient_api_key_balance: "What is left of the key's spending limit is below the price. Raise the limit.",
  insufficient_balance:
    'The account balance, or the part of it that may pay for this call, is below the price. Top up.',
  ip_not_allowed: "The caller's IP address is not in the key's allowlist.",
  insufficient_permissions: 'The credential or token in the request does not allow this.',
  insufficient_scope:
    'The scope in `param` was not granted, by the owner to the app or by the linked social account to this gateway. Request it again.',
  social_session_required: 'No social account is linked to this key, or its access was withdrawn. Link one.',
  not_a_member: 'The user of the session does not belong to the workspace that X-Workspace names.',
  foreign_origin: "A browser sent this request from another site, or under a host name that is not this gateway's.",
  model_not_allowed: "The model is not in the key's allowlist.",
  unknown_model: 'There is no model with this id. `GET /v1/models` lists all models.',
  model_route_not_supported:
    'The model is not available on this route; its `supported_endpoint_types` lists the routes it supports.',
  max_tokens_exceeded: 'The input and the output cap together exceed the token limit per minute.',
  unsupported_parameter: 'This model or route does not support the parameter. The message says why.',
  unknown_endpoint: 'This endpoint does not exist. Check the path.',
  resource_not_found: 'No resource with this id exists, or the caller has no access to it.',
  method_not_allowed: 'The endpoint does not support this method; `Allow` lists the supported ones.',
  not_acceptable: 'The `Accept` header does not allow JSON.',
  request_timeout: 'The body did not arrive in time. Send the request again.',
  payload_too_large: 'The body is too large.',
  unsupported_media_type: 'The route does not take a body of this type or encoding. The message says what it takes.',
  idempotency_conflict: 'This Idempotency-Key was already used for a different request.',
  answer_not_kept:
    'This request was served and charged, but its response cannot be replayed: it was too large to store, or broke off. For a payment: it went through, but no attempt got a response.',
  outcome_unknown:
    'A write or a stream with this Idempotency-Key started, but its outcome is unknown. It will not be retried; check whether it took effect.',
  limit_reached: 'The account has reached its limit for this resource. Remove one, or ask the operator for more.',
  invalid_state: 'The change is not possible in the current state, for example enabling a revoked key.',
  estimated_price_exceeds_max_price: 'The request would cost more than X-Max-Price-USD. Nothing ran.',
  rate_limit_exceeded:
    'A limit of the key, app, account or address is reached. The message says which. Wait for Retry-After.',
  upstream_rate_limit:
    'The upstream takes no more calls now, or none of yours for a while. The limits of your key were not reached. Wait for Retry-After.',
  quota_exceeded:
    "What is left of the key's daily, weekly or monthly budget is below the price. The budget resets after Retry-After.",
  internal_error: 'Something went wrong on our side. Contact support with the request id.',
  service_unavailable:
    'Something that the gateway needs is not responding, such as its database, or it is shutting down or has too much to do. Try again.',
  account_under_review:
    'An earlier charge of this account could not be booked, and the operator has to decide about it. Nothing was charged.',
  upstream_error: 'The upstream provider returned an error.',
  upstream_unavailable:
    'The operation cannot be served now: its upstream cannot be reached, is not configured, or is closed. The message says which.',
  upstream_timeout: 'The upstream did not respond, or did not finish its response, in the time of the call.',
}

/** The request log's text for a call without such a failure. It must be true whether the call was charged or not. */
const END_MEANINGS: Readonly<Record<EndCode, string>> = {
  caller_hung_up:
    'The caller hung up, or read for longer than a stream may last. A call that has reached its upstream is charged nevertheless.',
  stream_cut: 'The response broke off before its end.',
  gateway_restarted:
    'The gateway ended unexpectedly in the middle of the response. The next start charged what was recorded until then.',
  gateway_shutdown: 'The gateway shut down before the response was complete.',
}

const LOG_MEANINGS: ReadonlyMap<string, string> = new Map(Object.entries({ ...FAILURE_MEANINGS, ...END_MEANINGS }))

/** The meaning of a code of the request log, without Markdown. Null for a code that this version does not write. */
export function logMeaning(code: string | null): string | null {
  return LOG_MEANINGS.get(code ?? '')?.replaceAll('`', '') ?? null
}
