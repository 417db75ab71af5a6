#!/bin/bash
# usa: correr.sh guion args...
echo 19 > /proc/self/autogroup
cd /work/h/l20b-reg
PYTHONPATH=/work/h/e19/code nice -n 19 timeout 1500 /work/h/e19/.venv/bin/python "$@"
