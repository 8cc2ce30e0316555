/** Answers in the shapes of the real network, so that the one adapter reads both. */
export function problem(status: number, title: string, detail: string, more: Record<string, unknown> = {}): Response {
  return Response.json(
    { title, type: 'about:blank', status, detail, ...more },
    { status, headers: { 'content-type': 'application/problem+json' } },
  )
}

export const unauthorized = () => problem(401, 'Unauthorized', 'Unauthorized')

/** The real network gives no more detail than this for a missing scope. */
export const forbidden = (detail = 'Forbidden') => problem(403, 'Forbidden', detail)

export function invalid(parameter: string, value: string, message: string): Response {
  return problem(400, 'Invalid Request', 'One or more parameters to your request was invalid.', {
    type: 'https://api.x.com/2/problems/invalid-request',
    errors: [{ parameters: { [parameter]: [value] }, message }],
  })
}

/** The error inside a 200 whose requested resource does not exist. */
export function resourceNotFound(resource: 'user' | 'tweet', parameter: string, value: string) {
  const name = parameter === 'username' ? 'username' : 'id'
  return {
    value,
    detail: `Could not find ${resource} with ${name}: [${value}].`,
    title: 'Not Found Error',
    resource_type: resource,
    parameter,
    resource_id: value,
    type: 'https://api.x.com/2/problems/resource-not-found',
  }
}

export function notFound(resource: 'user' | 'tweet', parameter: string, value: string): Response {
  return problem(404, 'Not Found Error', '', { ...resourceNotFound(resource, parameter, value), status: 404 })
}
