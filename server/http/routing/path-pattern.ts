/** Matches exactly the paths of a route such as `/v1/usage/:id`; a parameter is one segment, not empty. */
export function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`)
}
