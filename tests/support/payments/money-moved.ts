/** The recipient's income while `work` ran. */
export function moneyMoved(received: () => Promise<bigint>) {
  return async (work: () => Promise<unknown>): Promise<bigint> => {
    const before = await received()
    await work()
    return (await received()) - before
  }
}
