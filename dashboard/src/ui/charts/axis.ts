const MAX_STEPS = 4

/** Round marks from 0 to at least `max`, no closer than `leastStep`. */
export function axisMarks(max: number, leastStep: number): readonly number[] {
  const wanted = Math.max(max / MAX_STEPS, leastStep)
  const power = 10 ** Math.floor(Math.log10(wanted))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= wanted * 0.999) ?? wanted
  const count = Math.max(1, Math.ceil(max / step))
  return Array.from({ length: count + 1 }, (_, at) => at * step)
}
