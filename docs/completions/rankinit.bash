# SPDX-License-Identifier: Apache-2.0
# bash completion for rankinit, made by `make docs` from the program's own table
_rankinit() {
    local cur=${COMP_WORDS[COMP_CWORD]} i
    COMPREPLY=()
    # past the options everything belongs to the command
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] && return
    done
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--help --help=common --help=all --version --list= --list=sources --list=simulations --list=frameworks --list=checks --list=facts --list=codes --list=options --explain --explain=text --explain=json --check --check=text --check=json --print-env --print-env=shell --print-env=dotenv --print-env=json --print-env=null --autopsy --autopsy=text --autopsy=json --status --blame --blame=text --blame=json --install= --rank= --world-size= --local-rank= --local-world-size= --node-rank= --nnodes= --master-addr= --master-port= --hosts= --hostfile= --source= --source=none --frameworks= --frameworks=auto --frameworks=none --tf-ps= --root= --launch= --launch=auto --launch=process --launch=node --launch=none --nproc-per-node= --nproc-per-node=gpu --nproc-per-node=cpu --nproc-per-node=auto --require= --expect= --checks= --checks=default --checks=all --checks=none --simulate= --expand= --expand=auto --expand=all --expand=off --supervise= --supervise=auto --supervise=always --supervise=never --bind-to= --bind-to=none --bind-to=numa --omp-threads= --omp-threads=auto --omp-threads=keep --gpu-bind= --gpu-bind=none --gpu-bind=single --grace= --linger= --restarts= --restart-wait= --link --link=yes --link=no --link=tell --link-key= --link-port= --link-grace= --roll-call= --autopsy-after= --autopsy-signal= --stall= --signal-map= --signal-group --signal-group=yes --signal-group=no --exit-map= --exit-class --exit-class=yes --exit-class=no --user= --cap-drop= --cap-drop=all --cap-keep= --no-new-privs --no-new-privs=yes --no-new-privs=no --log-prefix --log-prefix=yes --log-prefix=no --log-prefix=node --log-file= --report= --state= --wait-master= --quiet --quiet=yes --quiet=no --verbose --verbose=yes --verbose=no' -- "$cur")
        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    fi
}
complete -o default -F _rankinit rankinit
