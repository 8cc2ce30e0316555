/**
 * Bodies of the real X API v2 as others recorded or published them, so that the double says what X says. Read on 2026-11-21
 * from stored public copies; none was taken from a live call of ours. `spec`: xdevplatform/docs `openapi.json` 2.167.
 */

const PROBLEMS = 'https://api.twitter.com/2/problems'

/** docs.x.com, response codes: an access token that is expired or withdrawn. */
export const UNAUTHORIZED = { title: 'Unauthorized', type: 'about:blank', status: 401, detail: 'Unauthorized' }

/** docs.x.com, response codes; also sent for what the plan of an app does not allow. */
export const FORBIDDEN = { title: 'Forbidden', type: 'about:blank', status: 403, detail: 'Forbidden' }

/** Recorded in github.com/akrherz/iembot issue 163 (2026-02-13). */
export const DUPLICATE = {
  detail: 'You are not allowed to create a Tweet with duplicate content.',
  type: 'about:blank',
  title: 'Forbidden',
  status: 403,
}

/** Recorded by several, among them a public script's own output of 2026 (`searcher.py`, account 2036532529868496897). */
export const CREDITS_DEPLETED = {
  account_id: 2036532529868496897n.toString(),
  title: 'CreditsDepleted',
  detail: 'Your enrolled account [2036532529868496897] does not have any credits to fulfill this request.',
  type: `${PROBLEMS}/credits`,
}

/** Recorded with HTTP 403 (a public test of 2026, `SpendCapReached`). */
export const SPEND_CAP = {
  title: 'SpendCapReached',
  detail: 'Your enrolled account has reached its billing cycle spend cap.',
  reset_date: '2026-12-13',
  type: `${PROBLEMS}/credits`,
}

/** docs.x.com, response codes: an app that is not attached to a project. */
export const NOT_ENROLLED = {
  client_id: '101010101',
  required_enrollment: 'Appropriate Level of API Access',
  registration_url: 'https://developer.twitter.com/en/docs/projects/overview',
  title: 'Client Forbidden',
  detail: 'This request must be made using an approved developer account that is enrolled in the requested endpoint.',
  reason: 'client-not-enrolled',
  type: `${PROBLEMS}/client-forbidden`,
}

/** A 200 without `data`, recorded in many clients' tests (for example a Spring client's, and a nock of 2021). */
export const noSuchUser = (username: string) => ({
  errors: [
    {
      value: username,
      detail: `Could not find user with username: [${username}].`,
      title: 'Not Found Error',
      resource_type: 'user',
      parameter: 'username',
      resource_id: username,
      type: `${PROBLEMS}/resource-not-found`,
    },
  ],
})

/** docs.x.com (X-ERR): the problem form of a full window. */
export const TOO_MANY = { title: 'Too Many Requests', detail: 'Too Many Requests', type: 'about:blank', status: 429 }

/** docs.x.com (X-RATE): the older form of the same. */
export const TOO_MANY_OLD = { errors: [{ code: 88, message: 'Rate limit exceeded' }] }

/** spec: the default error of the newest schema, `{code, message}`. */
export const THIRD_SHAPE = { code: 400, message: 'text is not valid' }

/** github.com/plhery/node-twitter-api-v2 issues 319 and 496; github.com/unasuke/omniauth-twitter2 issue 4. */
export const DEAD_TOKEN = { error: 'invalid_request', error_description: 'Value passed for the token was invalid.' }
export const DEAD_CODE = {
  error: 'invalid_request',
  error_description: 'Value passed for the authorization code was invalid.',
}
export const NO_CLIENT = { error: 'unauthorized_client', error_description: 'Missing valid authorization header' }

/** The answer of a guard in front of the API: no JSON. */
export const BLOCKED = '<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head></html>'
