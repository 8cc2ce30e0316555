/** Whether an `Accept` header admits JSON: absent, `*`/`*`, `application/*`, or `application/json`, none with q=0 (RFC 9110 12.5.1). */
export function admitsJson(accept: string | null): boolean {
  if (accept === null || accept.trim() === '') return true
  let best: { specificity: number; allowed: boolean } | null = null
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const specificity = ['*/*', 'application/*', 'application/json'].indexOf(type)
    if (specificity < 0) continue
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    const allowed = quality === undefined || Number(quality.slice(2)) > 0
    if (!best || specificity >= best.specificity) best = { specificity, allowed }
  }
  return best?.allowed ?? false
}
