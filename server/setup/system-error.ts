/** Whether a call to the operating system failed with this code, such as `EEXIST`. */
export function isSystemError(failure: unknown, code: string): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === code
}
