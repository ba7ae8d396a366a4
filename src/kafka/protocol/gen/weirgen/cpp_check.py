def emit_check(unit, header): return ""
def emit_check_table(units): return ""
