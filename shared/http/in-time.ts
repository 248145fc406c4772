/** A check that hangs is a check that failed: whoever asks has a limit of its own. Null where it did not end within `limitMs`. */
export const inTime = async <Value>(check: Promise<Value>, limitMs = 5_000): Promise<Value | null> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => { timer = setTimeout(() => resolve(null), limitMs); });
  try {
    return await Promise.race([check, late]);
  } finally {
    clearTimeout(timer);
  }
};
